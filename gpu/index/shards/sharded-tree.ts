import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import { type Rows, rowCount } from '../../../protocol/rows.js'
import type { Explanation, Traversal } from '../../../protocol/traversal.js'
import { keyWidth } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { DeviceReads, TreeReads } from '../../device-reads.js'
import type {
  CompactionOptions,
  GetAllResult,
  GetNextRequest,
  GetNextResult,
  GetResult,
  IndexShape,
  IndexStructure,
  PreparedWrite,
  ScanRequest,
  ScanResult,
  StructureImage,
  StructureStats,
  WriteBatch,
} from '../../index-structure.js'
import type { ReadPart } from '../../memory/image-parts.js'
import type { ResultMemory } from '../../memory/result-memory.js'
import { ArenaFull } from '../arena.js'
import { PrefixTree } from '../prefix-tree.js'
import { joinRegions } from '../region-stats.js'
import type { CutPlace } from '../write/cut.js'
import { Boundaries } from './boundaries.js'
import { type ShardParts, shardPartsFor } from './parts.js'
import { imageOfShards, shardsFromImage } from './sharded-image.js'
import type { Shards } from './shards.js'

/** A cut that finds no room has done half of its work by then. */
const GROWTH_BEFORE_NEXT_CUT = 1.02

/**
 * An index as one tree or, where that would be larger than what the device can bind, as several over neighbouring ranges of keys, its
 * **shards** (design, "Device memory"). A shard that is full is cut in two in its middle. With one shard everything is
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
    const tree = await PrefixTree.create(device, shape)
    return new ShardedTree(device, shape, { boundaries: Boundaries.none(shape), trees: [tree] })
  }

  /**
   * An index from its image.
   * @throws WarpdexError `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`
   */
  static async restore(
    device: Device,
    shape: IndexShape,
    meta: StructureImage['meta'],
    readPart: ReadPart,
  ): Promise<ShardedTree> {
    const shards = await shardsFromImage(device, shape, meta, readPart, device.structureBytes)
    return new ShardedTree(device, shape, shards)
  }

  async get(
    keys: Uint8Array,
    keyOffsets?: Uint32Array,
    traversal?: Traversal,
    memory?: ResultMemory,
  ): Promise<GetResult> {
    const column = { bytes: keys, offsets: keyOffsets }
    const only = this.#only(column)
    if (only !== undefined) return only.get(keys, keyOffsets, traversal, memory)
    const { points } = await this.#parts()
    return points.get(this.#shards, column, traversal, memory)
  }

  async getAll(keys: Uint8Array, limit: number, keyOffsets?: Uint32Array): Promise<GetAllResult> {
    const column = { bytes: keys, offsets: keyOffsets }
    const only = this.#only(column)
    if (only !== undefined) return only.getAll(keys, limit, keyOffsets)
    const { lists } = await this.#parts()
    return lists.getAll(this.#shards, column, limit)
  }

  async count(keys: Uint8Array, keyOffsets?: Uint32Array): Promise<Uint8Array> {
    const column = { bytes: keys, offsets: keyOffsets }
    const only = this.#only(column)
    if (only !== undefined) return only.count(keys, keyOffsets)
    const { points } = await this.#parts()
    return points.count(this.#shards, column)
  }

  async scan(request: ScanRequest): Promise<ScanResult> {
    const { trees } = this.#shards
    if (trees.length === 1 || request.ranges === 0 || request.limit === 0) return trees[0].scan(request)
    const { lists } = await this.#parts()
    return lists.scan(this.#shards, request)
  }

  async getNext(request: GetNextRequest): Promise<GetNextResult> {
    const only = this.#only({ bytes: request.keys, offsets: request.keyOffsets })
    if (only !== undefined) return only.getNext(request)
    const { lists } = await this.#parts()
    return lists.getNext(this.#shards, request)
  }

  /** As it would be done in the shard of the first key. */
  async explain(keys: Uint8Array, keyOffsets?: Uint32Array, traversal?: Traversal): Promise<Explanation> {
    const { boundaries, trees } = this.#shards
    if (trees.length === 1) return trees[0].explain(keys, keyOffsets, traversal)
    const { divider } = await this.#parts()
    const [shard] = await divider.route(boundaries, { bytes: keys, offsets: keyOffsets })
    return trees[shard].explain(keys, keyOffsets, traversal)
  }

  duringReads<T>(use: (reads: DeviceReads) => Promise<T>): Promise<T> {
    const { boundaries, trees } = this.#shards
    const divider = async () => (await this.#parts()).divider
    return duringAll(trees, [], (opened) =>
      use({
        trees: opened,
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
    const only = this.#only({ bytes: batch.keys, offsets: batch.keyOffsets })
    if (only !== undefined) {
      try {
        return await only.prepare(batch)
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

  image(options?: { readonly inPlace: boolean }): Promise<StructureImage> {
    return imageOfShards(this.#shards, options)
  }

  get derivedBytes(): number {
    return this.#shards.trees.reduce((sum, tree) => sum + tree.derivedBytes, 0)
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

  /** The tree that answers everything by itself. */
  #only(keys: Rows): PrefixTree | undefined {
    const { trees } = this.#shards
    const isAlone = trees.length === 1 || rowCount(keys, keyWidth(this.shape.keyType)) === 0
    return isAlone ? trees[0] : undefined
  }

  #parts(): Promise<ShardParts> {
    return shardPartsFor(this.#device, this.shape)
  }

  /** Cuts shards before writes need it, as far as there is room. Where there was none it is tried again once the shard has grown. */
  async #cutNearlyFull(): Promise<boolean> {
    let hasCut = false
    for (const tree of this.#shards.trees) {
      const { keys, usedBytes } = tree.stats()
      if (!tree.isNearlyFull || keys < 2 || usedBytes < (this.#tooLargeToCut.get(tree) ?? 0)) continue
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
      boundaries: boundaries.cut(shard, boundary),
      trees: trees.toSpliced(shard, 1, lower, upper),
    }
    this.#share(this.#shards)
    tree.destroy()
  }

  /** Each tree may have what the others leave to it. */
  #share({ trees }: Shards): void {
    for (const tree of trees) {
      const bytes = () => {
        const others = this.#shards.trees.filter((other) => other !== tree)
        const taken = others.reduce((sum, other) => sum + other.stats().deviceBytes, 0)
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

/** Opens the reads of one tree after the other, and keeps all until `use` has settled. */
function duringAll<T>(
  trees: readonly PrefixTree[],
  opened: readonly (TreeReads | undefined)[],
  use: (opened: readonly (TreeReads | undefined)[]) => Promise<T>,
): Promise<T> {
  const next = trees[opened.length]
  if (next === undefined) return use(opened)
  return next.duringTreeReads((reads) => duringAll(trees, [...opened, reads], use))
}

function joinCounts(all: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  if (all.length === 1) return all[0]
  const joined: Record<string, number> = {}
  for (const counts of all) {
    for (const [name, count] of Object.entries(counts)) joined[name] = (joined[name] ?? 0) + count
  }
  return joined
}
