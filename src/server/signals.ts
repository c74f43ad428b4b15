import { once } from 'node:events'
import { toWarpdexError } from '../../protocol/errors.js'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Exit code of a process that was told to stop twice: that of an interrupted one. */
const IMPATIENT_EXIT = 130

/** Exit code of a process that was told to stop and could not finish in time. */
const UNFINISHED_EXIT = 3

/** A server, or what stands for one. */
export interface Stoppable {
  /** What a close still waits for, for people. */
  unfinished(): readonly string[]
  /** Reads certificates and tokens again. */
  reload(): Promise<void>
  close(): Promise<void>
}

export interface SignalOptions {
  /** How long a stop may take. */
  readonly shutdownSeconds: number
  /** Told why files could not be read again, and what could not be finished. */
  readonly onWarning: (message: string) => void
}

/**
 * Starts a server and closes it when the process is told to stop, be it while it starts. A second signal ends the process at once,
 * and so does the end of the time for a stop. SIGHUP has the server read its certificate and tokens again; where there is a
 * terminal it means that this was closed.
 *
 * @param start starts the server, and gives up with the signal's reason once that is aborted
 * @throws what starting or closing throws
 */
export async function serveUntilSignal(
  start: (stop: AbortSignal) => Promise<Stoppable>,
  { shutdownSeconds, onWarning }: SignalOptions,
): Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  let server: Stoppable | undefined
  let timer: NodeJS.Timeout | undefined
  const giveUp = (): void => {
    const left = server?.unfinished() ?? ['the start']
    onWarning(
      `not finished within ${shutdownSeconds} seconds: ${left.join('; ') || 'the end of files and device'}. ` +
        'What was acknowledged is on disk',
    )
    process.exit(UNFINISHED_EXIT)
  }
  const stop = (): void => {
    if (signal.aborted) process.exit(IMPATIENT_EXIT)
    timer = setTimeout(giveUp, shutdownSeconds * 1000)
    stopping.abort()
  }
  const reload = (): void => {
    server?.reload().catch((thrown: unknown) => {
      onWarning(`${toWarpdexError(thrown).message}; what was read before stays`)
    })
  }
  const hangUp = process.stdout.isTTY ? stop : reload
  for (const name of SIGNALS) process.on(name, stop)
  process.on('SIGHUP', hangUp)
  try {
    server = await start(signal)
    if (!signal.aborted) await once(signal, 'abort')
    await server.close()
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  } finally {
    clearTimeout(timer)
    for (const name of SIGNALS) process.off(name, stop)
    process.off('SIGHUP', hangUp)
  }
}
