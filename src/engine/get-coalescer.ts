import type { GetResult } from '../../gpu/index-structure.js'
import type { ResultMemory } from '../../gpu/memory/result-memory.js'
import { joinRows, type Rows, type RowWidth, rowCount } from '../../protocol/rows.js'
import { Coalescer } from './coalescer.js'

/** Keys of a read, or entries of its result, that are too few to hold up others. */
export const SMALL_READ = 4096
/** Gets of more keys, or bytes of keys, than this fill a dispatch by themselves. */
const SMALL = { keys: SMALL_READ, bytes: 256 * 1024 }
/** What one shared dispatch takes. */
const SHARED = { keys: 65_536, bytes: 4 * 2 ** 20 }

/** Dispatches under way: one goes up, one computes and one comes back. */
const UNDER_WAY = 3

/** Lets small gets share dispatches: a dispatch and its readback cost as much as tens of thousands of lookups. */
export class GetCoalescer {
  readonly #run: (keys: Rows, memory?: ResultMemory) => Promise<GetResult>
  readonly #keyWidth: RowWidth
  readonly #payloadBytes: number
  readonly #small: Coalescer<Rows, GetResult>

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
    this.#small = new Coalescer({
      underWay: UNDER_WAY,
      ask: (gets) => this.#runTogether(gets),
      share: (keys) =>
        Math.max(paddedCount(this.#count(keys)) / SHARED.keys, keys.bytes.byteLength / SHARED.bytes),
      onLeave: onDispatch,
    })
  }

  /** @param memory where the result of a large get may go */
  get(keys: Rows, memory?: ResultMemory): Promise<GetResult> {
    const isLarge = this.#count(keys) > SMALL.keys || keys.bytes.byteLength > SMALL.bytes
    return isLarge ? this.#run(keys, memory) : this.#small.call(keys)
  }

  #count(keys: Rows): number {
    return rowCount(keys, this.#keyWidth)
  }

  async #runTogether(gets: readonly Rows[]): Promise<readonly GetResult[]> {
    const [first] = gets
    if (gets.length === 1 && first !== undefined) return [await this.#run(first)]
    const counts = gets.map((keys) => this.#count(keys))
    const { found, payloads } = await this.#run(joinRows(gets, this.#keyWidth, counts.map(paddedCount)))
    const width = this.#payloadBytes
    return cutShared(found, counts, (ownFound, start, count) => ({
      found: ownFound,
      payloads: payloads.subarray(start * width, (start + count) * width),
    }))
  }
}

/** Each get that goes with others starts at a multiple of eight keys, so that its part of the `found` bitmap starts with a byte. */
export function paddedCount(count: number): number {
  return Math.ceil(count / 8) * 8
}

/**
 * Cuts the answer to gets that went together.
 * @param found the bitmap of all, whose last bits of each get are cleared: the keys that pad were looked up, too
 * @param cut makes one get's answer of its bitmap, and of where its keys start among all
 */
export function cutShared<T>(
  found: Uint8Array,
  counts: readonly number[],
  cut: (found: Uint8Array, start: number, count: number) => T,
): readonly T[] {
  let start = 0
  return counts.map((count) => {
    const own = found.subarray(start / 8, (start + paddedCount(count)) / 8)
    if ((count & 7) !== 0) own[own.length - 1]! &= (1 << (count & 7)) - 1
    const answer = cut(own, start, count)
    start += paddedCount(count)
    return answer
  })
}
