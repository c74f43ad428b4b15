const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * Runs work that a first Ctrl-C, or SIGTERM, asks to end, so that it can say how far it came. A second one ends the process.
 */
export async function untilSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const onSignal = () => {
    for (const name of SIGNALS) process.off(name, onSignal)
    stop.abort()
  }
  for (const name of SIGNALS) process.on(name, onSignal)
  try {
    return await work(stop.signal)
  } finally {
    for (const name of SIGNALS) process.off(name, onSignal)
  }
}
