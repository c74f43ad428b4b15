/** What the connections of a thread take at the moment. */
export interface Load {
  /** Requests that are not answered. */
  readonly requests: number
  readonly requestBytes: number
  /** Bytes of replies that have not left. */
  readonly replyBytes: number
  /** Connections that wait for an answer. */
  readonly waitingClients: number
}

const FIGURES = ['requests', 'requestBytes', 'replyBytes', 'waitingClients'] as const

/** A thread's load, in memory that others read: as of a moment ago. */
export class ThreadLoad {
  readonly memory: SharedArrayBuffer
  readonly #figures: Float64Array

  constructor(memory = new SharedArrayBuffer(FIGURES.length * Float64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#figures = new Float64Array(memory)
  }

  set(load: Load): void {
    for (const [i, figure] of FIGURES.entries()) this.#figures[i] = load[figure]
  }

  get(): Load {
    const [requests = 0, requestBytes = 0, replyBytes = 0, waitingClients = 0] = this.#figures
    return { requests, requestBytes, replyBytes, waitingClients }
  }
}
