import { type Column, countOf } from '../../../protocol/columns.js'
import { SEQUENCE_BYTES } from '../../../protocol/types.js'
import type { Device, DeviceColumn, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { GetResult, ReadRequest } from '../../index-structure.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import { checkTraversal } from '../partitions/traversals.js'
import { type HeldTree, holdAll } from '../prefix-tree.js'
import { bitmapBytes, type ReadContext } from '../read/read-context.js'
import type { Divider, Division } from './divider.js'
import type { Shards } from './shards.js'

/** The keys of a batch that a shard has. */
interface Share {
  /** Undefined where the shard has none. */
  readonly tree: HeldTree | undefined
  readonly shard: number
  /** Number of the first one in the order of the shards. */
  readonly first: number
  readonly count: number
}

/** Reads that answer each key by itself: divided, answered and put back in the order of the request, all on the device (`point-reads.wesl`). */
export class PointReads {
  readonly #device: Device
  readonly #context: ReadContext
  readonly #divider: Divider
  readonly #kernels: Kernels<'put_back'>

  constructor(context: ReadContext, divider: Divider) {
    const { device } = context
    this.#device = device
    this.#context = context
    this.#divider = divider
    this.#kernels = device.kernels('index/shards/point-reads', ['put_back'])
  }

  /** The first payload of each key. */
  get(
    shards: Shards,
    { traversal, memory, withSequences }: ReadRequest<'get'>,
    keys: Column,
  ): Promise<GetResult> {
    const { payloadBytes, paddedBytes, tree: shape } = this.#context
    if (traversal !== undefined) checkTraversal(shape, traversal)
    const count = countOf(keys)
    const batch = this.#context.batch(keys)
    return this.#divided(shards, keys, async (scratch, division, shares) => {
      const plans = await Promise.all(
        shares.map(({ tree, count }) => tree?.plan({ ...batch, count }, traversal)),
      )
      const recorder = this.#device.record()
      const { keys: queries, positions, startsOnDevice: starts } = division
      const found = scratch.words(firstWord(shards.trees.length, count) + 1)
      const payloads = scratch.bytes(count * paddedBytes)
      const sequences = withSequences ? scratch.words(count) : undefined
      for (const [i, { tree, shard, first, count }] of shares.entries()) {
        const answers = { found, payloads, sequences, first, firstWord: firstWord(shard, first) }
        if (tree !== undefined) {
          tree.get(recorder, scratch, { queries, count, ...answers }, plans[i])
          continue
        }
        recorder.clear(found, 4 * answers.firstWord, 4 * Math.ceil(count / 32))
        recorder.clear(payloads, first * paddedBytes, count * paddedBytes)
        if (sequences) recorder.clear(sequences, 4 * first, 4 * count)
      }
      const allFound = scratch.bytes(bitmapBytes(count))
      const allPayloads = scratch.bytes(count * paddedBytes)
      recorder.clear(allFound)
      const buffers = { positions, found, payloads, starts, allFound, allPayloads }
      const params = { count, shards: shards.trees.length, payloadWords: shape.payloadWords }
      recorder.dispatch(this.#kernels.put_back, buffers, params, count)
      const column = this.#context.payloadColumn({ recorder, scratch }, allPayloads, count)
      const columns = [
        { buffer: allFound, bytes: bitmapBytes(count) },
        { buffer: column, bytes: count * payloadBytes },
        ...(sequences ? [this.#putBack(recorder, scratch, sequences, positions, count)] : []),
      ]
      const [bits, bytes, words] = await this.#device.submitAndRead(recorder, columns, memory)
      return {
        found: bits,
        payloads: { bytes, width: payloadBytes },
        ...(words && { sequences: { bytes: words, width: SEQUENCE_BYTES } }),
      }
    })
  }

  /** The number of payloads of each key, u32. */
  count(shards: Shards, keys: Column): Promise<Uint8Array> {
    const count = countOf(keys)
    return this.#divided(shards, keys, async (scratch, { keys: queries, positions }, shares) => {
      const recorder = this.#device.record()
      const counts = scratch.words(count)
      for (const { tree, first, count } of shares) {
        if (tree !== undefined) tree.count(recorder, queries, counts, count, first)
        else recorder.clear(counts, 4 * first, 4 * count)
      }
      const column = this.#putBack(recorder, scratch, counts, positions, count)
      const [bytes] = await this.#device.submitAndRead(recorder, [column])
      return bytes
    })
  }

  /** Puts a word a key into the order of the request. */
  #putBack(
    recorder: Recorder,
    scratch: Scratch,
    words: DeviceMemory,
    positions: DeviceMemory,
    count: number,
  ): DeviceColumn {
    const all = scratch.words(count)
    this.#context.primitives.scatter(recorder, words, positions, all, count, 1)
    return { buffer: all, bytes: 4 * count }
  }

  /** Answers with what the shards hold meanwhile. */
  #divided<T>(
    { boundaries, trees }: Shards,
    keys: Column,
    answer: (scratch: Scratch, division: Division, shares: readonly Share[]) => Promise<T>,
  ): Promise<T> {
    return holdAll(trees, async (held) => {
      return this.#device.withScratch(async (scratch) => {
        const division = await this.#divider.divide(scratch, boundaries, keys)
        const { starts } = division
        const shares = held.map((tree, shard) => {
          return { tree, shard, first: starts[shard], count: starts[shard + 1] - starts[shard] }
        })
        const concerned = shares.filter(({ count }) => count > 0)
        return await answer(scratch, division, concerned)
      })
    })
  }
}

/** The word with which the found bits of a shard begin, whose first key is number `first`; `point-reads.wesl` has the same. */
function firstWord(shard: number, first: number): number {
  return Math.floor(first / 32) + shard
}
