import { blankColumn, columnOf, pickValues, valuesOf } from '../../../protocol/columns.js'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import { keyWidth } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { DeviceReads } from '../../device-reads.js'
import type {
  CompactionOptions,
  IndexShape,
  IndexStructure,
  PayloadLists,
  PreparedWrite,
  ReadColumns,
  ReadOp,
  ReadRequest,
  ReadResults,
  StructureEntries,
  StructureImage,
  StructureStats,
  WriteBatch,
} from '../../index-structure.js'
import type { PageRun } from '../../memory/page-run.js'
import { ArenaFull } from '../arena.js'
import { structureEntries } from '../entries/structure-entries.js'
import { holdAll, PrefixTree } from '../prefix-tree.js'
import { askedFor, keyCount } from '../read/read-operation.js'
import { joinRegions } from '../region-stats.js'
import type { FrozenEntries } from '../tree-state.js'
import type { CutPlace } from '../write/cut.js'
import { type ShardParts, type ShardRead, shardPartsFor } from './parts.js'
import type { Shards } from './shards.js'

/** A cut that finds no room has done half of its work by then. */
const GROWTH_BEFORE_NEXT_CUT = 1.02

/**
 * An index as one tree or, where that would be larger than what the device can bind, as several over neighbouring ranges of keys, its
 * **shards**. A shard that is full is cut in two in its middle. With one shard everything is
 * handed on to its tree.
 */
export class ShardedTree implements IndexStructure {
  readonly shape: IndexShape
  readonly #device: Device
  #shards: Shards
  /** Bytes that a shard which there was no room to cut must have before that is tried again. */
  readonly #tooLargeToCut = new WeakMap<PrefixTree, number>()
  /** Settles when no tree is growing. */
  #growing: Promise<void> = Promise.resolve()

  private constructor(device: Device, shape: IndexShape, shards: Shards) {
    this.#device = device
    this.shape = shape
    this.#shards = shards
    this.#share(shards)
  }

  /** An empty index. */
  static async create(device: Device, shape: IndexShape): Promise<ShardedTree> {
    const trees = [await PrefixTree.create(device, shape)]
    return new ShardedTree(device, shape, { boundaries: blankColumn(0, keyWidth(shape.keyType)), trees })
  }

  /**
   * An index from its image.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async restore(device: Device, shape: IndexShape, image: StructureImage): Promise<ShardedTree> {
    const { boundaries, images } = image.shards ?? {
      boundaries: blankColumn(0, keyWidth(shape.keyType)),
      images: [image],
    }
    const trees: PrefixTree[] = []
    try {
      for (const own of images) {
        const taken = trees.reduce((sum, tree) => sum + tree.deviceBytes, 0)
        trees.push(await PrefixTree.restore(device, shape, own, device.structureBytes - taken))
      }
    } catch (error) {
      for (const tree of trees) tree.destroy()
      throw error
    }
    return new ShardedTree(device, shape, { boundaries, trees })
  }

  async read<Op extends ReadOp>(request: ReadRequest<Op>, columns: ReadColumns): Promise<ReadResults[Op]> {
    const { trees } = this.#shards
    if (trees.length === 1) return trees[0].read(request, columns)
    const asked = askedFor(this.shape.keyType, request, columns)
    if (asked.count === 0) return trees[0].read(request, columns)
    const { reads } = await this.#parts()
    const run: ShardRead<Op> = reads[request.op]
    return run(this.#shards, request, asked)
  }

  duringReads<T>(use: (reads: DeviceReads) => Promise<T>): Promise<T> {
    const { boundaries, trees } = this.#shards
    const divider = async () => (await this.#parts()).divider
    return holdAll(trees, (held) =>
      use({
        trees: held,
        divide: async (scratch, keys, count) => {
          const recorder = scratch.record()
          return (await divider()).divideQueries(recorder, scratch, boundaries, keys, count)
        },
        part: async (recorder, scratch, divided, tree) =>
          (await divider()).part(recorder, scratch, divided, tree),
      }),
    )
  }

  async prepare(batch: WriteBatch): Promise<PreparedWrite> {
    const { trees } = this.#shards
    if (trees.length === 1 || keyCount(this.shape.keyType, batch.keys) === 0) {
      try {
        return await trees[0].prepare(batch)
      } catch (error) {
        if (!(error instanceof ArenaFull)) throw error
      }
    }
    const { writes } = await this.#parts()
    for (;;) {
      const attempt = await writes.prepare(this.#shards, batch)
      if ('prepared' in attempt) return attempt.prepared
      for (const { tree, place } of attempt.full) await this.#cut(tree, place)
    }
  }

  async compactIfWorthwhile(options?: CompactionOptions): Promise<boolean> {
    const hasCut = await this.#cutNearlyFull()
    const compacted: boolean[] = []
    for (const tree of this.#shards.trees) compacted.push(await tree.compactIfWorthwhile(options))
    return hasCut || compacted.includes(true)
  }

  get background(): Promise<WarpdexError | undefined> | undefined {
    const all = this.#shards.trees.flatMap(({ background = [] }) => background)
    if (all.length === 0) return undefined
    return Promise.all(all).then((outcomes) => outcomes.find((outcome) => outcome !== undefined))
  }

  async image(): Promise<StructureImage> {
    const { boundaries, trees } = this.#shards
    if (trees.length === 1) return trees[0].image()
    const images: StructureImage[] = []
    for (const tree of trees) images.push(await tree.image())
    const parts = images.flatMap(({ parts }) => parts)
    return { meta: {}, parts, shards: { boundaries, images } }
  }

  async copy(): Promise<ShardedTree> {
    const { boundaries, trees } = this.#shards
    const copies: PrefixTree[] = []
    try {
      for (const tree of trees) copies.push(await tree.copy())
    } catch (error) {
      for (const tree of copies) tree.destroy()
      throw error
    }
    return new ShardedTree(this.#device, this.shape, { boundaries, trees: copies })
  }

  async entries(): Promise<StructureEntries> {
    const frozen: FrozenEntries[] = []
    try {
      for (const tree of this.#shards.trees) frozen.push(tree.freeze())
    } catch (error) {
      for (const tree of frozen) tree.release()
      throw error
    }
    return structureEntries(frozen)
  }

  async renumber(lists: PayloadLists): Promise<void> {
    const { boundaries, trees } = this.#shards
    if (trees.length === 1) return trees[0].renumber(lists)
    const { divider } = await this.#parts()
    const shards = await divider.route(boundaries, lists.keys)
    for (const [shard, tree] of trees.entries()) {
      const own = listsOf(lists, (key) => shards[key] === shard)
      if (own.lists.length > 0) await tree.renumber(own)
    }
  }

  get runs(): readonly PageRun[] {
    return this.#shards.trees.flatMap(({ runs }) => runs)
  }

  get deviceBytes(): number {
    let bytes = 0
    for (const tree of this.#shards.trees) bytes += tree.deviceBytes
    return bytes
  }

  get derivedBytes(): number {
    let bytes = 0
    for (const tree of this.#shards.trees) bytes += tree.derivedBytes
    return bytes
  }

  stats(): StructureStats {
    const all = this.#shards.trees.map((tree) => tree.stats())
    const sum = (figure: (stats: StructureStats) => number) =>
      all.reduce((total, stats) => total + figure(stats), 0)
    return {
      keys: sum(({ keys }) => keys),
      payloads: sum(({ payloads }) => payloads),
      shards: all.length,
      deviceBytes: sum(({ deviceBytes }) => deviceBytes),
      usedBytes: sum(({ usedBytes }) => usedBytes),
      garbageBytes: sum(({ garbageBytes }) => garbageBytes),
      regions: joinRegions(all.map(({ regions }) => regions)),
      traversals: joinCounts(all.map(({ traversals }) => traversals)),
    }
  }

  destroy(): void {
    for (const tree of this.#shards.trees) tree.destroy()
  }

  #parts(): Promise<ShardParts> {
    return shardPartsFor(this.#device, this.shape)
  }

  /** Cuts shards before writes need it, as far as there is room. Where there was none it is tried again once the shard has grown. */
  async #cutNearlyFull(): Promise<boolean> {
    let hasCut = false
    for (const tree of this.#shards.trees) {
      if (!tree.isNearlyFull) continue
      const { keys, usedBytes } = tree.stats()
      if (keys < 2 || usedBytes < (this.#tooLargeToCut.get(tree) ?? 0)) continue
      try {
        await this.#cut(tree, { rank: Math.floor(keys / 2) })
        hasCut = true
      } catch (error) {
        // A write that needs the room will say so.
        if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY') throw error
        this.#tooLargeToCut.set(tree, usedBytes * GROWTH_BEFORE_NEXT_CUT)
      }
    }
    return hasCut
  }

  async #cut(tree: PrefixTree, place: CutPlace): Promise<void> {
    const { boundaries, trees } = this.#shards
    if (trees.length >= LIMITS.shards) {
      throw new WarpdexError(
        'OUT_OF_DEVICE_MEMORY',
        `the index has ${trees.length} shards, which are as many as it may have, and one of them is full`,
      )
    }
    const shard = trees.indexOf(tree)
    const { lower, upper, boundary } = await tree.cut(place)
    this.#shards = {
      boundaries: columnOf(valuesOf(boundaries).toSpliced(shard, 0, boundary), boundaries.width),
      trees: trees.toSpliced(shard, 1, lower, upper),
    }
    this.#share(this.#shards)
    tree.destroy()
  }

  /** Each tree may have what the others leave to it. */
  #share({ trees }: Shards): void {
    if (trees.length === 1) return
    for (const tree of trees) {
      const bytes = () => {
        const others = this.#shards.trees.filter((other) => other !== tree)
        const taken = others.reduce((sum, other) => sum + other.deviceBytes, 0)
        return this.#device.structureBytes - taken
      }
      tree.allowance = { bytes, inTurn: (task) => this.#inTurn(task) }
    }
  }

  /** Trees that grow at the same time must see what the others have taken. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#growing.then(task)
    this.#growing = result.then(
      () => {},
      () => {},
    )
    return result
  }
}

function joinCounts(all: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  if (all.length === 1) return all[0]
  const joined: Record<string, number> = {}
  for (const counts of all) {
    for (const [name, count] of Object.entries(counts)) joined[name] = (joined[name] ?? 0) + count
  }
  return joined
}

/** The lists of some of the keys. */
function listsOf({ keys, lists, sequences }: PayloadLists, isIn: (key: number) => boolean): PayloadLists {
  const numbers: number[] = []
  const taken: number[] = []
  const ofKeys: number[] = []
  for (let key = 0, start = 0; key < lists.length / 2; key++) {
    const end = start + lists[2 * key]
    if (isIn(key)) {
      numbers.push(key)
      ofKeys.push(lists[2 * key], lists[2 * key + 1])
      for (let i = start; i < end; i++) taken.push(sequences[i])
    }
    start = end
  }
  return {
    keys: pickValues(keys, Uint32Array.from(numbers)),
    lists: Uint32Array.from(ofKeys),
    sequences: Uint32Array.from(taken),
  }
}
