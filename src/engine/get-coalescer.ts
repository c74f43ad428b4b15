import type { GetResult } from '../../gpu/index-structure.js'

/** Gets of more keys than this fill a dispatch by themselves. */
const SMALL_KEYS = 4096
/** Keys that one shared dispatch takes. */
const SHARED_KEYS = 65_536
/** Shared dispatches in flight: one computes while the other's result is on its way. */
const DISPATCHES = 2

interface WaitingGet {
  readonly keys: Uint8Array
  readonly resolve: (result: GetResult) => void
  readonly reject: (error: unknown) => void
}

/**
 * Lets small gets share dispatches. One that finds the device idle goes at once; those that arrive while it is busy go
 * together when it becomes free. A dispatch and its readback cost as much as tens of thousands of lookups.
 */
export class GetCoalescer {
  readonly #run: (keys: Uint8Array) => Promise<GetResult>
  readonly #keyBytes: number
  readonly #payloadBytes: number
  readonly #waiting: WaitingGet[] = []
  #running = 0

  constructor(run: (keys: Uint8Array) => Promise<GetResult>, keyBytes: number, payloadBytes: number) {
    this.#run = run
    this.#keyBytes = keyBytes
    this.#payloadBytes = payloadBytes
  }

  get(keys: Uint8Array): Promise<GetResult> {
    if (keys.byteLength > SMALL_KEYS * this.#keyBytes) return this.#run(keys)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, resolve, reject })
      this.#advance()
    })
  }

  #advance(): void {
    while (this.#running < DISPATCHES && this.#waiting.length > 0) {
      this.#running++
      void this.#runTogether(this.#takeWaiting()).then(() => {
        this.#running--
        this.#advance()
      })
    }
  }

  #takeWaiting(): readonly WaitingGet[] {
    let keys = 0
    let taken = 0
    while (taken < this.#waiting.length && keys < SHARED_KEYS) {
      keys += this.#paddedKeys(this.#waiting[taken++])
    }
    return this.#waiting.splice(0, taken)
  }

  async #runTogether(gets: readonly WaitingGet[]): Promise<void> {
    try {
      if (gets.length === 1) {
        gets[0].resolve(await this.#run(gets[0].keys))
        return
      }
      this.#share(gets, await this.#run(this.#join(gets)))
    } catch (error) {
      for (const { reject } of gets) reject(error)
    }
  }

  /** Each get starts at a multiple of eight keys, so that its part of the `found` bitmap starts with a byte. */
  #paddedKeys({ keys }: WaitingGet): number {
    return Math.ceil(keys.byteLength / this.#keyBytes / 8) * 8
  }

  #join(gets: readonly WaitingGet[]): Uint8Array {
    const total = gets.reduce((sum, get) => sum + this.#paddedKeys(get), 0)
    const joined = new Uint8Array(total * this.#keyBytes)
    let start = 0
    for (const get of gets) {
      joined.set(get.keys, start * this.#keyBytes)
      start += this.#paddedKeys(get)
    }
    return joined
  }

  #share(gets: readonly WaitingGet[], { found, payloads }: GetResult): void {
    let start = 0
    for (const get of gets) {
      const count = get.keys.byteLength / this.#keyBytes
      const end = start + this.#paddedKeys(get)
      const ownFound = found.subarray(start / 8, end / 8)
      // The keys that pad were looked up too.
      if ((count & 7) !== 0) ownFound[ownFound.length - 1] &= (1 << (count & 7)) - 1
      const ownPayloads = payloads.subarray(start * this.#payloadBytes, (start + count) * this.#payloadBytes)
      get.resolve({ found: ownFound, payloads: ownPayloads })
      start = end
    }
  }
}
