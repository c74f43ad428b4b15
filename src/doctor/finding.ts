/** One line of what the doctor says. */
export interface Line {
  readonly state: 'ok' | 'warn' | 'fail'
  /** What was looked at, in a word or two. */
  readonly subject: string
  readonly found: string
  /** What to do about it; only where there is something to do. */
  readonly remedy?: string | undefined
}

export function ok(subject: string, found: string): Line {
  return { state: 'ok', subject, found }
}

export function warn(subject: string, found: string, remedy: string): Line {
  return { state: 'warn', subject, found, remedy }
}

export function fail(subject: string, found: string, remedy: string): Line {
  return { state: 'fail', subject, found, remedy }
}
