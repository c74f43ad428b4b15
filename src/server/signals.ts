import { once } from 'node:events'
import { toWarpdexError } from '../../protocol/errors.js'
import type { RunningServer } from './start-server.js'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Exit code of a process that was told to stop twice: that of an interrupted one. */
const IMPATIENT_EXIT = 130

/**
 * Starts a server and closes it when the process is told to stop, be it while it starts. A second signal ends the process at once.
 * SIGHUP has the server read its certificate and tokens again; where there is a terminal it means that this was closed.
 *
 * @param start starts the server, and gives up with the signal's reason once that is aborted
 * @param onWarning told why they could not be read
 * @throws what starting or closing throws
 */
export async function serveUntilSignal(
  start: (stop: AbortSignal) => Promise<RunningServer>,
  onWarning: (message: string) => void = () => {},
): Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  const stop = (): void => {
    if (signal.aborted) process.exit(IMPATIENT_EXIT)
    stopping.abort()
  }
  let server: RunningServer | undefined
  const reload = (): void => {
    try {
      server?.reload()
    } catch (thrown) {
      onWarning(`all stays as it was: ${toWarpdexError(thrown).message}`)
    }
  }
  for (const name of SIGNALS) process.on(name, stop)
  const hangUp = process.stdout.isTTY ? stop : reload
  process.on('SIGHUP', hangUp)
  try {
    server = await start(signal)
    if (!signal.aborted) await once(signal, 'abort')
    await server.close()
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  } finally {
    for (const name of SIGNALS) process.off(name, stop)
    process.off('SIGHUP', hangUp)
  }
}
