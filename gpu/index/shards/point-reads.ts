import { type Column, countOf } from '../../../protocol/columns.js'
import type { Traversal } from '../../../protocol/traversal.js'
import { SEQUENCE_BYTES } from '../../../protocol/types.js'
import type { Recorder } from '../../device/recorder.js'
import type { GetResult, ReadRequest } from '../../index-structure.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import { checkTraversal } from '../partitions/traversals.js'
import { type HeldTree, holdAll } from '../prefix-tree.js'
import { bitmapBytes, type ReadContext } from '../read/read-context.js'
import type { Divider } from './divider.js'
import type { Shards } from './shards.js'

/** What is undefined is a shard without keys. */
type HeldTrees = readonly (HeldTree | undefined)[]

/**
 * Reads that answer each key by itself. Every shard is asked for all keys, in the order of the batch, and passes over those of the others
 * (`read/own-keys.wesl`): to divide the batch before would take a round trip.
 */
export class PointReads {
  readonly #context: ReadContext
  readonly #divider: Divider

  constructor(context: ReadContext, divider: Divider) {
    this.#context = context
    this.#divider = divider
  }

  /** The first payload of each key. */
  get(
    { boundaries, trees }: Shards,
    { traversal, memory, withSequences }: ReadRequest<'get'>,
    keys: Column,
  ): Promise<GetResult> {
    const { payloadBytes, paddedBytes } = this.#context
    const count = countOf(keys)
    return holdAll(trees, async (held) => {
      const plans = await this.#plans(held, keys, traversal)
      const [found, payloads, sequences] = await this.#context.run((recorder, scratch) => {
        const queries = this.#context.queries(recorder, scratch, keys)
        const found = zeros(recorder, scratch, Math.ceil(count / 32))
        const padded = zeros(recorder, scratch, (count * paddedBytes) / 4)
        const sequences = withSequences ? zeros(recorder, scratch, count) : undefined
        const keyShards = this.#divider.recordRoute(recorder, scratch, boundaries, queries, count)
        for (const [shard, tree] of held.entries()) {
          const columns = { queries, count, found, payloads: padded, sequences, own: { keyShards, shard } }
          tree?.get(recorder, scratch, columns, plans[shard])
        }
        const column = this.#context.payloadColumn({ recorder, scratch }, padded, count)
        return [
          { buffer: found, bytes: bitmapBytes(count) },
          { buffer: column, bytes: count * payloadBytes },
          ...(sequences ? [{ buffer: sequences, bytes: count * SEQUENCE_BYTES }] : []),
        ]
      }, memory)
      return {
        found,
        payloads: { bytes: payloads, width: payloadBytes },
        ...(sequences && { sequences: { bytes: sequences, width: SEQUENCE_BYTES } }),
      }
    })
  }

  /** The number of payloads of each key, u32. */
  count({ boundaries, trees }: Shards, keys: Column): Promise<Uint8Array> {
    const count = countOf(keys)
    return holdAll(trees, async (held) => {
      const [bytes] = await this.#context.run((recorder, scratch) => {
        const queries = this.#context.queries(recorder, scratch, keys)
        const counts = zeros(recorder, scratch, count)
        const keyShards = this.#divider.recordRoute(recorder, scratch, boundaries, queries, count)
        for (const [shard, tree] of held.entries()) {
          tree?.count(recorder, queries, counts, count, { keyShards, shard })
        }
        return [{ buffer: counts, bytes: 4 * count }]
      })
      return bytes
    })
  }

  /** How each shard finds its keys, about as many as the others have. */
  #plans(held: HeldTrees, keys: Column, traversal: Traversal | undefined) {
    if (traversal !== undefined) checkTraversal(this.#context.tree, traversal)
    const batch = this.#context.batch(keys)
    const own = { ...batch, count: Math.ceil(batch.count / held.length) }
    return Promise.all(held.map((tree) => tree?.plan(own, traversal)))
  }
}

/** Words of scratch memory that are 0. */
function zeros(recorder: Recorder, scratch: Scratch, words: number): DeviceMemory {
  const memory = scratch.words(words)
  recorder.clear(memory, 0, 4 * words)
  return memory
}
