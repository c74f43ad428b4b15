import { type Column, countOf } from '../../../protocol/columns.js'
import type { Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { KeyColumn } from '../../keys/key-column.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { ReadContext } from '../read/read-context.js'

/** A batch's keys on the device, in the order of the shards that they belong to; those of one shard in the order of the batch. */
export interface Division {
  readonly keys: KeyColumn
  /** Number in the batch of each of them. */
  readonly positions: DeviceMemory
  /** Where the keys of each shard start, and the number of all. */
  readonly starts: Uint32Array
}

/** Divides batches among shards (`route.wesl`; the split of He §3.1.4): shard numbers, a sort of them, and the keys in their order. */
export class Divider {
  readonly #context: ReadContext
  readonly #kernels: Kernels<'route' | 'divide'>

  constructor(context: ReadContext) {
    const { device, tree } = context
    this.#context = context
    this.#kernels = device.kernels('index/shards/route', ['route', 'divide'], tree.conditions)
  }

  /** The shard of each key, on the host. */
  async route(boundaries: Column, keys: Column): Promise<Uint32Array> {
    const count = countOf(keys)
    const [parts] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.queries(recorder, scratch, keys)
      const parts = this.recordRoute(recorder, scratch, boundaries, queries, count)
      return [{ buffer: parts, bytes: 4 * count }]
    })
    return new Uint32Array(parts.buffer, parts.byteOffset, count)
  }

  /** Divides a batch; its columns are scratch buffers. */
  async divide(scratch: Scratch, boundaries: Column, keys: Column): Promise<Division> {
    const recorder = this.#context.device.record()
    const queries = this.#context.queries(recorder, scratch, keys)
    return this.divideQueries(recorder, scratch, boundaries, queries, countOf(keys))
  }

  /** As `divide`, of `count` keys that are on the device; submits what was recorded. */
  async divideQueries(
    recorder: Recorder,
    scratch: Scratch,
    boundaries: Column,
    queries: KeyColumn,
    count: number,
  ): Promise<Division> {
    const { device, primitives, tree, keyBytes } = this.#context
    const shards = countOf(boundaries) + 1
    const parts = this.recordRoute(recorder, scratch, boundaries, queries, count)
    const bits = Math.max(1, 32 - Math.clz32(countOf(boundaries)))
    const sorted = primitives.sort(recorder, scratch, parts, undefined, count, 1, { bits })
    const positions = sorted.values
    const keys = scratch.bytes(count * keyBytes)
    const places = scratch.words(shards + 1)
    const divided = { sortedParts: sorted.keys, positions, dividedKeys: keys, starts: places }
    const params = { count, shape: tree.word, boundaries: countOf(boundaries) }
    recorder.dispatch(this.#kernels.divide, { queries: queries.keys, ...divided }, params, count + 1)
    const [starts] = await device.submitAndRead(recorder, [{ buffer: places, bytes: 4 * (shards + 1) }])
    return {
      keys: { keys, heap: queries.heap },
      positions,
      starts: new Uint32Array(starts.buffer, starts.byteOffset, shards + 1),
    }
  }

  /** Records a copy of one shard's keys. */
  part(
    recorder: Recorder,
    scratch: Scratch,
    division: Pick<Division, 'keys' | 'starts'>,
    shard: number,
  ): KeyColumn {
    const { keyBytes } = this.#context
    const { keys, starts } = division
    const [begin, end] = [starts[shard], starts[shard + 1]]
    const own = scratch.bytes((end - begin) * keyBytes)
    recorder.copy(keys.keys, begin * keyBytes, own, 0, (end - begin) * keyBytes)
    return { keys: own, heap: keys.heap }
  }

  /** The shard of each of `count` keys that are on the device, a word a key. */
  recordRoute(
    recorder: Recorder,
    scratch: Scratch,
    boundaries: Column,
    queries: KeyColumn,
    count: number,
  ): DeviceMemory {
    const { tree } = this.#context
    const bounds = this.#context.queries(recorder, scratch, boundaries)
    const parts = scratch.words(count)
    const heaps = { heap: bounds.heap, queryHeap: queries.heap }
    const buffers = { queries: queries.keys, boundaries: bounds.keys, parts, ...heaps }
    const params = { count, shape: tree.word, boundaries: countOf(boundaries) }
    recorder.dispatch(this.#kernels.route, buffers, params, count)
    return parts
  }
}
