import { LIMITS } from '../../../protocol/limits.js'
import type { DeviceColumn, Kernels } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena, ArenaContent } from '../arena.js'
import type { FindOrder } from '../batch/batch.js'
import type { ReadContext } from '../read/read-context.js'
import type { Compactor } from './compact.js'

/** Where to cut a tree: before the key number `rank`, or where a wire key belongs. */
export type CutPlace = { readonly rank: number } | { readonly key: Uint8Array }

/** One side of a cut. */
export interface CutSide {
  readonly keys: number
  readonly payloads: number
  /** Without keys there is none. */
  readonly arena: Arena | undefined
}

export interface CutArenas {
  readonly lower: CutSide
  readonly upper: CutSide
  /** The least wire key that may be in the upper part. */
  readonly boundary: Uint8Array
}

/** What a cut found before it was made. */
interface Found {
  readonly ordered: DeviceMemory
  readonly before: number
  readonly payloadsBefore: number
  readonly boundary: Uint8Array
}

function contentOf({ bindings, tuples, heap, sorted }: Arena): Omit<ArenaContent, 'allowance'> {
  return { bindings, tuples, heap, sorted }
}

/** Cuts trees in two at a key: each part is the compaction of a piece of the tree's order. */
export class Cutter {
  readonly #context: ReadContext
  readonly #compactor: Compactor
  readonly #findOrder: FindOrder
  readonly #kernels: Kernels<'find_cut' | 'count_before'>

  constructor(context: ReadContext, compactor: Compactor, findOrder: FindOrder) {
    const { device } = context
    this.#context = context
    this.#compactor = compactor
    this.#findOrder = findOrder
    this.#kernels = device.kernels('index/write/cut', ['find_cut', 'count_before'], context.tree.conditions)
  }

  /**
   * Two new arenas with the live content of `arena`, which is left as it is.
   * @param keys number of live tuples
   * @param payloads number of their payloads
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async cut(
    arena: Arena,
    { keys, payloads }: { keys: number; payloads: number },
    place: CutPlace,
  ): Promise<CutArenas> {
    return this.#context.device.withScratch(async (scratch) => {
      const found = await this.#find(scratch, arena, keys, place)
      const { ordered, before, payloadsBefore, boundary } = found
      const lower = await this.#copy(arena, ordered, 0, before)
      try {
        const upper = await this.#copy(arena, ordered, before, keys - before, lower?.bytes)
        return {
          lower: { keys: before, payloads: payloadsBefore, arena: lower },
          upper: { keys: keys - before, payloads: payloads - payloadsBefore, arena: upper },
          boundary,
        }
      } catch (error) {
        lower?.destroy()
        throw error
      }
    })
  }

  async #find(scratch: Scratch, arena: Arena, keys: number, place: CutPlace): Promise<Found> {
    const { device, tree, keyBytes, restorer } = this.#context
    const byKey = 'key' in place
    const { recorder, tuples: ordered } = await this.#findOrder(device.record(), scratch, arena, keys)
    const key = byKey ? place.key : new Uint8Array(keyBytes)
    const ends = new Uint32Array([0, key.byteLength])
    const bound = this.#context.queries(recorder, scratch, { bytes: key, offsets: ends })
    const cut = scratch.words(2)
    const boundary = scratch.bytes(keyBytes)
    const params = {
      count: keys,
      shape: tree.word,
      rank: byKey ? 0 : place.rank,
      byKey: byKey ? 1 : 0,
    }
    const own = { ordered, bound: bound.keys, cut, boundary, totals: cut }
    const buffers = { ...arena.bindings, queryHeap: bound.heap, ...own }
    recorder.dispatchGroups(this.#kernels.find_cut, buffers, params, 1)
    recorder.dispatch(this.#kernels.count_before, buffers, params, keys)
    const columns: DeviceColumn[] = [{ buffer: cut, bytes: 8 }]
    if (restorer === undefined || arena.heap === undefined) {
      columns.push({ buffer: boundary, bytes: keyBytes })
    } else {
      const found = { heap: arena.heap.buffer, records: boundary }
      const { offsets, bytes } = restorer.record(recorder, scratch, found, 1, LIMITS.keyBytes)
      columns.push({ buffer: bytes, bytes: LIMITS.keyBytes }, { buffer: offsets, bytes: 8 })
    }
    const [counts, bytes, offsets] = await device.submitAndRead(recorder, columns)
    const [before, payloadsBefore] = new Uint32Array(counts.buffer, counts.byteOffset, 2)
    const length =
      offsets === undefined ? keyBytes : new Uint32Array(offsets.buffer, offsets.byteOffset, 2)[1]
    return { ordered, before, payloadsBefore, boundary: byKey ? key : bytes.slice(0, length) }
  }

  /**
   * The compaction of `count` tuples from number `first` of an order on.
   * @param takenBytes what is taken already of what the arena may have
   */
  async #copy(
    arena: Arena,
    ordered: DeviceMemory,
    first: number,
    count: number,
    takenBytes = 0,
  ): Promise<Arena | undefined> {
    if (count === 0) return undefined
    const bytes = () => arena.allowance.bytes() - takenBytes
    const content = { ...contentOf(arena), allowance: { ...arena.allowance, bytes } }
    const findOrder: FindOrder = async (recorder, scratch) => {
      const tuples = scratch.words(count)
      recorder.copy(ordered, 4 * first, tuples, 0, 4 * count)
      return { recorder, tuples }
    }
    return this.#compactor.compact(content, count, { findOrder })
  }
}
