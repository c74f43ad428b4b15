/** Cannot be in a process's arguments otherwise. */
const GUARD = '\0'

const NEGATIVE = /^-(\d|\.\d|infinity$|nan$)/i

/**
 * Arguments as yargs takes them for what they are: it would read -1e5 as options, forget a lone - and, in a command, all that
 * follows --. Such arguments are marked; `unguarded` takes the mark off again.
 */
export function guardedArguments(args: readonly string[]): string[] {
  const end = args.indexOf('--')
  const before = end < 0 ? args : args.slice(0, end)
  const after = end < 0 ? [] : args.slice(end + 1)
  const isValue = (arg: string) => arg === '-' || NEGATIVE.test(arg)
  return [...before.map((arg) => (isValue(arg) ? GUARD + arg : arg)), ...after.map((arg) => GUARD + arg)]
}

/** Takes the marks off the values of parsed arguments, in place. */
export function removeGuards(parsed: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(parsed)) {
    parsed[name] = Array.isArray(value) ? value.map(unguarded) : unguarded(value)
  }
}

/** A value, or a message that quotes some, without marks. */
export function unguarded<T>(value: T): T | string {
  return typeof value === 'string' ? value.replaceAll(GUARD, '') : value
}
