import type { RunningServer } from './start-server.js'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Exit code of a process that was told to stop twice: that of an interrupted one. */
const IMPATIENT_EXIT = 130

/** Resolves when a signal has come and the server is closed. A second signal ends the process at once. */
export function closedBySignal(server: RunningServer): Promise<void> {
  return new Promise((resolve, reject) => {
    let stopping = false
    const stop = (): void => {
      if (stopping) process.exit(IMPATIENT_EXIT)
      stopping = true
      server
        .close()
        .finally(() => {
          for (const signal of SIGNALS) process.off(signal, stop)
        })
        .then(resolve, reject)
    }
    for (const signal of SIGNALS) process.on(signal, stop)
  })
}
