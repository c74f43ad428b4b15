import { once } from 'node:events'
import type { RunningServer } from './start-server.js'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Exit code of a process that was told to stop twice: that of an interrupted one. */
const IMPATIENT_EXIT = 130

/**
 * Starts a server and closes it when the process is told to stop, be it while it starts. A second signal ends the process at once.
 *
 * @param start starts the server, and gives up with the signal's reason once that is aborted
 * @throws what starting or closing throws
 */
export async function serveUntilSignal(start: (stop: AbortSignal) => Promise<RunningServer>): Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  const stop = (): void => {
    if (signal.aborted) process.exit(IMPATIENT_EXIT)
    stopping.abort()
  }
  for (const name of SIGNALS) process.on(name, stop)
  try {
    const server = await start(signal)
    if (!signal.aborted) await once(signal, 'abort')
    await server.close()
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  } finally {
    for (const name of SIGNALS) process.off(name, stop)
  }
}
