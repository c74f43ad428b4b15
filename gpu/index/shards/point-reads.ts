import { type Rows, rowCount } from '../../../protocol/rows.js'
import type { Traversal } from '../../../protocol/traversal.js'
import { keyWidth } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { GetResult, IndexShape, ReadRequest } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import { keyLengths, treeShape } from '../layout.js'
import type { Batch } from '../partitions/traversal-costs.js'
import type { DeviceGet, PrefixTree } from '../prefix-tree.js'
import { NarrowPayloads } from '../read/narrow-payloads.js'
import { bitmapBytes, ReadContext } from '../read/read-context.js'
import type { Divider, Division } from './divider.js'
import { firstWord, PutBack, type ShardPlaces } from './put-back.js'
import type { Shards } from './shards.js'

/** A shard that a batch has keys of. */
interface Share {
  readonly shard: number
  readonly tree: PrefixTree
  readonly places: ShardPlaces
}

/** Reads that answer each key by itself: divided, answered and put back in the order of the request, all on the device. */
export class PointReads {
  readonly #device: Device
  readonly #context: ReadContext
  readonly #shape: IndexShape
  readonly #divider: Divider
  readonly #narrow: NarrowPayloads
  readonly #putBack: PutBack

  constructor(device: Device, primitives: Primitives, shape: IndexShape, divider: Divider) {
    const context = new ReadContext(device, primitives, shape)
    this.#device = device
    this.#context = context
    this.#shape = shape
    this.#divider = divider
    this.#narrow = new NarrowPayloads(context)
    this.#putBack = new PutBack(device)
  }

  /** The first payload of each key. */
  async get(shards: Shards, { traversal, memory }: ReadRequest<'get'>, keys: Rows): Promise<GetResult> {
    const { payloadBytes, paddedBytes, tree } = this.#context
    const count = this.#count(keys)
    return this.#divided(shards, keys, async (scratch, division, shares) => {
      const { longest, mean } = keyLengths(treeShape(this.#shape), keys.offsets)
      const lengths = { digits: longest, meanDigits: mean }
      return this.#withGets(shares, lengths, traversal, [], async (gets) => {
        const recorder = this.#device.record()
        const shards = division.starts.length - 1
        const divided = {
          found: scratch.words(firstWord(shards, count) + 1),
          payloads: scratch.bytes(count * paddedBytes),
        }
        const all = { found: scratch.bytes(bitmapBytes(count)), payloads: scratch.bytes(count * paddedBytes) }
        recorder.clear(all.found)
        shares.forEach(({ shard, places: { first } }, i) => {
          const at = { first, firstWord: firstWord(shard, first) }
          gets[i](recorder, scratch, { queries: division.keys, ...divided, ...at })
        })
        this.#putBack.recordFirst(recorder, division, divided, all, tree.payloadWords)
        const column = this.#narrow.record(recorder, scratch, all.payloads, count, payloadBytes)
        const columns = [
          { buffer: all.found, bytes: bitmapBytes(count) },
          { buffer: column, bytes: count * payloadBytes },
        ]
        const [bits, bytes] = await this.#device.submitAndRead(recorder, columns, memory)
        return { found: bits, payloads: bytes }
      })
    })
  }

  /** Makes ready the gets of all shares, and keeps what they read until `use` has settled. */
  #withGets<T>(
    shares: readonly Share[],
    lengths: Pick<Batch, 'digits' | 'meanDigits'>,
    traversal: Traversal | undefined,
    gets: readonly DeviceGet[],
    use: (gets: readonly DeviceGet[]) => Promise<T>,
  ): Promise<T> {
    if (gets.length === shares.length) return use(gets)
    const { tree, places } = shares[gets.length]
    return tree.duringGet({ count: places.count, ...lengths }, traversal, (get) =>
      this.#withGets(shares, lengths, traversal, [...gets, get], use),
    )
  }

  /** The number of payloads of each key, u32. */
  async count(shards: Shards, keys: Rows): Promise<Uint8Array> {
    const count = this.#count(keys)
    return this.#divided(shards, keys, async (scratch, division, shares) => {
      const recorder = this.#device.record()
      const counts = scratch.words(count)
      const queries = shares.map(({ shard }) => this.#divider.part(recorder, scratch, division, shard))
      shares.forEach(({ tree, places }, i) => {
        const own = scratch.words(places.count)
        tree.recordCount(recorder, queries[i], own, places.count)
        this.#putBack.recordWords(recorder, places, own, counts)
      })
      const [bytes] = await this.#device.submitAndRead(recorder, [{ buffer: counts, bytes: 4 * count }])
      return bytes
    })
  }

  async #divided<T>(
    { boundaries, trees }: Shards,
    keys: Rows,
    answer: (scratch: Scratch, division: Division, shares: readonly Share[]) => Promise<T>,
  ): Promise<T> {
    const scratch = this.#device.scratch()
    try {
      const division = await this.#divider.divide(scratch, boundaries, keys)
      const { positions, starts } = division
      const shares = trees.map((tree, shard) => {
        const first = starts[shard]
        return { shard, tree, places: { positions, first, count: starts[shard + 1] - first } }
      })
      const concerned = shares.filter(({ places }) => places.count > 0)
      return await answer(scratch, division, concerned)
    } finally {
      scratch.release()
    }
  }

  #count(keys: Rows): number {
    return rowCount(keys, keyWidth(this.#shape.keyType))
  }
}
