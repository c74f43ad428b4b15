import type { Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { ReadRequest } from '../../index-structure.js'
import type { KeyColumn } from '../../keys/key-column.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Arena } from '../arena.js'
import { type OwnKeys, ownKeys } from './own-keys.js'
import type { ReadContext } from './read-context.js'
import type { Asked, ReadOperation, SearchedTree } from './read-operation.js'

/** The number of payloads of each key. */
export class Count implements ReadOperation<'count'> {
  readonly #context: ReadContext
  readonly #kernels: Kernels<'count_payloads'>

  constructor(context: ReadContext) {
    this.#context = context
    this.#kernels = context.kernels('count', ['count_payloads'])
  }

  /** Counts for `count` keys that are on the device: a word a key. Those of others than `own` keep theirs. */
  record(
    recorder: Recorder,
    arena: Arena,
    queries: KeyColumn,
    counts: DeviceMemory,
    count: number,
    own?: OwnKeys,
  ): void {
    const { shard, keyShards } = ownKeys(own, queries.keys)
    const buffers = { ...arena.bindings, queries: queries.keys, queryHeap: queries.heap, keyShards, counts }
    const params = { count, shape: this.#context.tree.word, shard }
    recorder.dispatch(this.#kernels.count_payloads, buffers, params, count)
  }

  async run(
    { arena }: SearchedTree,
    _request: ReadRequest<'count'>,
    { keys, count }: Asked<'count'>,
  ): Promise<Uint8Array> {
    const [counts] = await this.#context.run((recorder, scratch) => {
      const queries = this.#context.queries(recorder, scratch, keys)
      const counts = scratch.words(count)
      this.record(recorder, arena, queries, counts, count)
      return [{ buffer: counts, bytes: 4 * count }]
    })
    return counts
  }
}
