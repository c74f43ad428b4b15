import { Worker } from 'node:worker_threads'

/** Milliseconds between two knocks. */
const PAUSE_MS = 1

/** Knocks at times of its own, whether or not the one before was answered: delays are not left out because of longer ones. */
const PROGRAM = `
const { parentPort } = require('node:worker_threads')
setInterval(() => parentPort.postMessage(process.hrtime.bigint()), ${PAUSE_MS})
`

/** Measures how long this thread keeps others waiting: what a small request would wait that comes over another connection. */
export class TurnProbe {
  readonly #worker = new Worker(PROGRAM, { eval: true, execArgv: [] })
  readonly #milliseconds: number[] = []

  constructor() {
    this.#worker.on('message', (sent: bigint) => {
      this.#milliseconds.push(Number(process.hrtime.bigint() - sent) / 1e6)
    })
  }

  /** Forgets what was measured; resolves after the first knock. */
  async restart(): Promise<void> {
    await new Promise((resolve) => this.#worker.once('message', resolve))
    this.#milliseconds.length = 0
  }

  /** Ends it. @returns delays in milliseconds, in no order */
  async stop(): Promise<readonly number[]> {
    await this.#worker.terminate()
    return this.#milliseconds
  }
}
