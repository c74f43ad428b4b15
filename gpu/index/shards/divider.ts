import { WarpdexError } from '../../../protocol/errors.js'
import { type Rows, rowCount } from '../../../protocol/rows.js'
import { keyWidth } from '../../../protocol/types.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { IndexShape } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives, Split } from '../../primitives/primitives.js'
import type { KeyColumn } from '../partitions/result-table.js'
import { ReadContext } from '../read/read-context.js'
import type { Boundaries } from './boundaries.js'

/** A batch's keys on the device, in the order of the shards that they belong to; those of one shard in the order of the batch. */
export interface Division {
  readonly keys: KeyColumn
  /** Number in the batch of each of them. */
  readonly positions: GPUBuffer
  /** Where the keys of each shard start, and the number of all. */
  readonly starts: Uint32Array
  readonly startsOnDevice: GPUBuffer
}

/** Divides batches among shards, by the primitive `split` (He §3.1.4). */
export class Divider {
  readonly #context: ReadContext
  readonly #shape: IndexShape
  readonly #kernels: Kernels<'route'>
  readonly #split: Split

  constructor(device: Device, primitives: Primitives, shape: IndexShape) {
    const context = new ReadContext(device, primitives, shape)
    const { conditions, keyWords } = context.tree
    this.#context = context
    this.#shape = shape
    this.#kernels = device.kernels('index/shards/route', ['route'], conditions)
    this.#split = primitives.split({ keyWords, payloadWords: 1, positions: true })
  }

  /** The shard of each key, on the host. */
  async route(boundaries: Boundaries, keys: Rows): Promise<Uint32Array> {
    const count = this.#count(keys)
    const [parts] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.queries(recorder, scratch, keys)
      const parts = this.#record(recorder, scratch, boundaries, queries, count)
      return [{ buffer: parts, bytes: 4 * count }]
    })
    return new Uint32Array(parts.buffer, parts.byteOffset, count)
  }

  /** Divides a batch; its columns are scratch buffers. */
  async divide(scratch: Scratch, boundaries: Boundaries, keys: Rows): Promise<Division> {
    const recorder = this.#context.device.record()
    const queries = this.#context.queries(recorder, scratch, keys)
    return this.divideQueries(recorder, scratch, boundaries, queries, this.#count(keys))
  }

  /** As `divide`, of `count` keys that are on the device; submits what was recorded. */
  async divideQueries(
    recorder: Recorder,
    scratch: Scratch,
    boundaries: Boundaries,
    queries: KeyColumn,
    count: number,
  ): Promise<Division> {
    const { device } = this.#context
    const { shards } = boundaries
    const parts = this.#record(recorder, scratch, boundaries, queries, count)
    const input = { keys: queries.keys, payloads: undefined }
    const split = this.#split.record(recorder, scratch, input, parts, count, shards)
    const [starts] = await device.submitAndRead(recorder, [{ buffer: split.starts, bytes: 4 * (shards + 1) }])
    if (split.payloads === undefined)
      throw new WarpdexError('INTERNAL', 'a split with positions returns them')
    return {
      keys: { keys: split.keys, heap: queries.heap },
      positions: split.payloads,
      starts: new Uint32Array(starts.buffer, starts.byteOffset, shards + 1),
      startsOnDevice: split.starts,
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

  #record(
    recorder: Recorder,
    scratch: Scratch,
    boundaries: Boundaries,
    queries: KeyColumn,
    count: number,
  ): GPUBuffer {
    const { tree } = this.#context
    const bounds = this.#context.queries(recorder, scratch, boundaries.rows)
    const parts = scratch.words(count)
    const heaps = { heap: bounds.heap, queryHeap: queries.heap }
    const buffers = { queries: queries.keys, boundaries: bounds.keys, parts, ...heaps }
    const params = { count, shape: tree.word, boundaries: boundaries.count }
    recorder.dispatch(this.#kernels.route, buffers, params, count)
    return parts
  }

  #count(keys: Rows): number {
    return rowCount(keys, keyWidth(this.#shape.keyType))
  }
}
