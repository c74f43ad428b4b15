import type { GetResult } from '../../gpu/index-structure.js'
import type { ResultMemory } from '../../gpu/memory/result-memory.js'
import { joinRows, type Rows, type RowWidth, rowCount } from '../../protocol/rows.js'

/** Keys of a read, or entries of its result, that are too few to hold up others. */
export const SMALL_READ = 4096
/** Gets of more keys, or bytes of keys, than this fill a dispatch by themselves. */
const SMALL = { keys: SMALL_READ, bytes: 256 * 1024 }
/** What one shared dispatch takes. */
const SHARED = { keys: 65_536, bytes: 4 * 2 ** 20 }
/** Shared dispatches in flight: one computes while the other's result is on its way. */
const DISPATCHES = 2

interface WaitingGet {
  readonly keys: Rows
  readonly count: number
  readonly resolve: (result: GetResult) => void
  readonly reject: (error: unknown) => void
}

/**
 * Lets small gets share dispatches. Those that come at once, and find the device idle, go at once; those that arrive while it is busy go
 * together when it becomes free. A dispatch and its readback cost as much as tens of thousands of lookups.
 */
export class GetCoalescer {
  readonly #run: (keys: Rows, memory?: ResultMemory) => Promise<GetResult>
  readonly #keyWidth: RowWidth
  readonly #payloadBytes: number
  readonly #onDispatch: (gets: number, milliseconds: number) => void
  readonly #waiting: WaitingGet[] = []
  /** When the first of those that wait was found to have to. */
  #waitingSince = 0
  #running = 0

  /** @param onDispatch told how many gets went together, and how long the first of them waited for that */
  constructor(
    run: (keys: Rows, memory?: ResultMemory) => Promise<GetResult>,
    keyWidth: RowWidth,
    payloadBytes: number,
    onDispatch: (gets: number, milliseconds: number) => void = () => {},
  ) {
    this.#run = run
    this.#keyWidth = keyWidth
    this.#payloadBytes = payloadBytes
    this.#onDispatch = onDispatch
  }

  /** @param memory where the result of a large get may go */
  get(keys: Rows, memory?: ResultMemory): Promise<GetResult> {
    const count = rowCount(keys, this.#keyWidth)
    if (count > SMALL.keys || keys.bytes.byteLength > SMALL.bytes) return this.#run(keys, memory)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, count, resolve, reject })
      if (this.#waiting.length > 1) return
      if (this.#running < DISPATCHES) queueMicrotask(() => this.#advance())
      else this.#waitingSince = performance.now()
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
    let bytes = 0
    let taken = 0
    while (taken < this.#waiting.length && keys < SHARED.keys && bytes < SHARED.bytes) {
      bytes += this.#waiting[taken].keys.bytes.byteLength
      keys += paddedCount(this.#waiting[taken++])
    }
    const now = this.#waitingSince === 0 ? 0 : performance.now()
    this.#onDispatch(taken, now - this.#waitingSince)
    // Those that are left came later; that the clock goes on for them says a little too much.
    if (taken === this.#waiting.length) this.#waitingSince = 0
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

  #join(gets: readonly WaitingGet[]): Rows {
    return joinRows(
      gets.map(({ keys }) => keys),
      this.#keyWidth,
      gets.map(paddedCount),
    )
  }

  #share(gets: readonly WaitingGet[], { found, payloads }: GetResult): void {
    let start = 0
    for (const get of gets) {
      const { count } = get
      const end = start + paddedCount(get)
      const ownFound = found.subarray(start / 8, end / 8)
      // The keys that pad were looked up too.
      if ((count & 7) !== 0) ownFound[ownFound.length - 1] &= (1 << (count & 7)) - 1
      const ownPayloads = payloads.subarray(start * this.#payloadBytes, (start + count) * this.#payloadBytes)
      get.resolve({ found: ownFound, payloads: ownPayloads })
      start = end
    }
  }
}

/** Each get starts at a multiple of eight keys, so that its part of the `found` bitmap starts with a byte. */
function paddedCount({ count }: WaitingGet): number {
  return Math.ceil(count / 8) * 8
}
