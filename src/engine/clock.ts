/** What says how time goes by, in milliseconds, and calls when some has. */
export interface Clock {
  now(): number
  /** Milliseconds since 1970, as whoever runs the machine has set them; they may jump. */
  date(): number
  /** @returns gives the call up */
  after(milliseconds: number, call: () => void): () => void
}

/** The system's; no setting of the time of day shortens what goes by. A call that it is to make keeps no process alive. */
export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  date: () => Date.now(),
  after: (milliseconds, call) => {
    const timer = setTimeout(call, milliseconds)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
