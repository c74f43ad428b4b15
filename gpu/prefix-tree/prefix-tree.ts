import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { Explanation, Traversal } from '../../protocol/traversal.js'
import { isFixedKeyType, keyBytes } from '../../protocol/types.js'
import type { Device } from '../device/device.js'
import type {
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
} from '../index-structure.js'
import { Arena } from './arena.js'
import { BackgroundMerge, type MergeOutcome } from './background-merge.js'
import { hasGarbage, isCompactionDue } from './compaction-due.js'
import { arenaFromImage, imageInPlace, imageOf, type ReadPart } from './image.js'
import { keyLengths, treeShape } from './layout.js'
import type { Ready } from './locate/locator.js'
import type { Batch } from './locate/traversal-planner.js'
import { type Parts, partsFor } from './parts.js'
import type { TreeReader } from './read/tree-reader.js'
import { after, compacted, NOTHING, type TreeTotals } from './totals.js'
import { columnBytes, type RememberedWrite, rememberColumns } from './write/remembered-write.js'
import type { PreparedBatch } from './write/tree-writer.js'

/** Room of a new arena; regions double from there. */
const FIRST_NEED = { nodes: 63, tuples: 64, extentWords: 64 }

/**
 * An updatable index: Volk's prefix tree with 4-bit digits, made practical (design, "Prefix tree"), and with structure `css` a CSS-tree that
 * has one for its delta (`css-tree/sorted-part.ts`). An empty tree owns no device memory.
 */
export class PrefixTree implements IndexStructure {
  readonly shape: IndexShape
  readonly #device: Device
  readonly #parts: Parts
  readonly #reader: TreeReader
  #arena: Arena | undefined
  #totals: TreeTotals
  #merge: BackgroundMerge | undefined
  /** Whether a merge in the background came to nothing, so that the next one is not. */
  #mergeFailed = false

  private constructor(
    device: Device,
    shape: IndexShape,
    parts: Parts,
    content?: { arena: Arena; totals: TreeTotals },
  ) {
    this.#device = device
    this.shape = shape
    this.#parts = parts
    this.#reader = parts.reader
    this.#arena = content?.arena
    this.#totals = content?.totals ?? NOTHING
  }

  /** An empty tree. */
  static async create(device: Device, shape: IndexShape): Promise<PrefixTree> {
    return new PrefixTree(device, shape, await partsFor(device, shape))
  }

  /**
   * A tree from its image.
   * @throws WarpdexError `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`
   */
  static async restore(
    device: Device,
    shape: IndexShape,
    meta: StructureImage['meta'],
    readPart: ReadPart,
  ): Promise<PrefixTree> {
    const parts = await partsFor(device, shape)
    if (meta.keys === 0) return new PrefixTree(device, shape, parts)
    const content = await arenaFromImage(device, treeShape(shape), meta, readPart)
    const tree = new PrefixTree(device, shape, parts, content)
    try {
      await parts.directories?.provide(content.arena, content.totals.keys)
      if (parts.separators !== undefined) {
        const recorder = device.record()
        parts.separators.record(recorder, content.arena)
        recorder.submit()
      }
      return tree
    } catch (error) {
      tree.destroy()
      throw error
    }
  }

  async get(keys: Uint8Array, keyOffsets?: Uint32Array, traversal?: Traversal): Promise<GetResult> {
    this.#parts.traversals.check(traversal)
    const count = this.#count(keys, keyOffsets)
    const arena = this.#arena
    if (arena !== undefined && count > 0) {
      return arena.during(async () => {
        const coming = this.#ready(arena, this.#batch(count, keyOffsets), traversal)
        return this.#reader.get(arena, keys, keyOffsets, coming && (await coming))
      })
    }
    return {
      found: new Uint8Array(Math.ceil(count / 8)),
      payloads: new Uint8Array(count * this.shape.payloadBytes),
    }
  }

  async getAll(keys: Uint8Array, limit: number, keyOffsets?: Uint32Array): Promise<GetAllResult> {
    const count = this.#count(keys, keyOffsets)
    const arena = this.#arena
    if (arena !== undefined && count > 0) {
      return arena.during(() => this.#reader.getAll(arena, keys, limit, keyOffsets))
    }
    return { offsets: new Uint32Array(count + 1), payloads: new Uint8Array(0) }
  }

  async count(keys: Uint8Array, keyOffsets?: Uint32Array): Promise<Uint8Array> {
    const count = this.#count(keys, keyOffsets)
    const arena = this.#arena
    if (arena !== undefined && count > 0) {
      return arena.during(() => this.#reader.count(arena, keys, keyOffsets))
    }
    return new Uint8Array(count * 4)
  }

  async scan(request: ScanRequest): Promise<ScanResult> {
    const { ranges, limit } = request
    const arena = this.#arena
    if (arena !== undefined && ranges > 0 && limit > 0) {
      return arena.during(() => this.#reader.scan(arena, request))
    }
    return {
      offsets: new Uint32Array(ranges + 1),
      ...this.#noKeys(0),
      payloads: new Uint8Array(0),
      more: new Uint8Array(ranges),
      ...this.#noTokens(ranges),
    }
  }

  async getNext(request: GetNextRequest): Promise<GetNextResult> {
    const { keyOffsets, traversal } = request
    this.#parts.traversals.check(traversal)
    const count = this.#count(request.keys, keyOffsets)
    const arena = this.#arena
    if (arena !== undefined && count > 0) {
      return arena.during(async () => {
        const coming = this.#ready(arena, this.#batch(count, keyOffsets), traversal)
        return this.#reader.getNext(arena, request, coming && (await coming))
      })
    }
    return {
      found: new Uint8Array(Math.ceil(count / 8)),
      ...this.#noKeys(count),
      payloads: new Uint8Array(count * this.shape.payloadBytes),
      sequences: new Uint8Array(count * 4),
    }
  }

  async explain(keys: Uint8Array, keyOffsets?: Uint32Array, traversal?: Traversal): Promise<Explanation> {
    const { traversals } = this.#parts
    traversals.check(traversal)
    const batch = this.#batch(this.#count(keys, keyOffsets), keyOffsets)
    const arena = this.#arena
    const { keys: keyCount } = this.#totals
    if (arena === undefined) return traversals.explain(arena, keyCount, batch, traversal)
    return arena.during(async () => {
      const explanation = await traversals.explain(arena, keyCount, batch, traversal)
      if (explanation.partitions === null) return explanation
      return { ...explanation, tables: await this.#reader.tables(arena, keys, keyOffsets) }
    })
  }

  async prepare(batch: WriteBatch): Promise<PreparedWrite> {
    this.#parts.traversals.check(batch.traversal)
    if (this.#count(batch.keys, batch.keyOffsets) === 0)
      return { codes: new Uint8Array(0), apply() {}, discard() {} }
    await this.#merge?.roomFor(columnBytes(batch))
    return this.#prepareWithRoom(batch)
  }

  /** Garbage, or a delta's nodes, may fill a region long before compaction is worthwhile for its own sake; then it makes room. */
  async #prepareWithRoom(batch: WriteBatch): Promise<PreparedWrite> {
    try {
      return await this.#prepareNow(batch)
    } catch (error) {
      if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY') throw error
      if (this.#merge !== undefined) {
        // What it takes is given back once it is over.
        await this.#merge.over
        return this.#prepareWithRoom(batch)
      }
      if (this.#arena === undefined || !hasGarbage(this.#arena, this.#totals)) throw error
      await this.compact()
      return this.#prepareNow(batch)
    }
  }

  #prepareNow(batch: WriteBatch): Promise<PreparedWrite> {
    const { keys, keyOffsets, traversal } = batch
    const { writer } = this.#parts
    const prepare = async (arena: Arena) => {
      const items = this.#batch(this.#count(keys, keyOffsets), keyOffsets)
      return writer.prepare(arena, batch, await this.#ready(arena, items, traversal))
    }
    return this.#beginWrite(prepare, () => rememberColumns(writer, batch))
  }

  /**
   * Prepares a write on the arena, beside a merge if there is one.
   * @param remember gives what the merge is to apply as well; called when the write is applied
   */
  async #beginWrite(
    prepare: (arena: Arena) => Promise<PreparedBatch>,
    remember: () => RememberedWrite,
  ): Promise<PreparedWrite> {
    const merge = this.#merge
    merge?.beginWrite()
    try {
      const { codes, effect, ...prepared } = await prepare(await this.#provideArena())
      return {
        codes,
        apply: () => {
          try {
            prepared.apply()
          } catch (error) {
            void merge?.giveUp()
            throw error
          }
          this.#totals = after(this.#totals, effect)
          merge?.endWrite(remember)
        },
        discard: () => {
          prepared.discard()
          merge?.endWrite()
        },
      }
    } catch (error) {
      merge?.endWrite()
      throw error
    }
  }

  /** What the traversal of a batch needs; undefined at once where that is nothing, so that reads are submitted when they are called. */
  #ready(arena: Arena, batch: Batch, named: Traversal | undefined): Promise<Ready | undefined> | undefined {
    const { traversals } = this.#parts
    if (traversals.isSequential(named)) return undefined
    return traversals.ready(arena, this.#totals.keys, batch, named)
  }

  #batch(count: number, keyOffsets: Uint32Array | undefined): Batch {
    const { longest, mean } = keyLengths(treeShape(this.shape), keyOffsets)
    return { count, digits: longest, meanDigits: mean }
  }

  async #provideArena(): Promise<Arena> {
    this.#arena ??= await Arena.create(this.#device, treeShape(this.shape), FIRST_NEED)
    return this.#arena
  }

  async compactIfWorthwhile({ inBackground } = { inBackground: false }): Promise<boolean> {
    const before = this.#arena
    if (this.#merge !== undefined) await (inBackground ? this.#merge.advance() : this.#merge.over)
    const arena = this.#arena
    if (this.#merge === undefined && arena !== undefined && isCompactionDue(arena, this.#totals)) {
      await this.compact({ inBackground: inBackground && !this.#mergeFailed })
    }
    if (this.#arena !== undefined) await this.#parts.traversals.maintain(this.#arena)
    return this.#arena !== before
  }

  /**
   * Rebuilds the tree without its garbage, whether that is worthwhile or not. Called between writes.
   * @param options `inBackground`: only begins it, if there is room for that; see `background`
   */
  async compact({ inBackground } = { inBackground: false }): Promise<void> {
    if (inBackground && this.#merge !== undefined) return
    await this.#merge?.giveUp()
    const arena = this.#arena
    if (arena === undefined) return
    if (inBackground && this.#totals.keys > 0 && (await this.#beginMerge(arena))) return
    await this.#compact(arena)
    this.#mergeFailed = false
  }

  get background(): Promise<WarpdexError | undefined> | undefined {
    return this.#merge?.over.then((outcome) => (outcome instanceof WarpdexError ? outcome : undefined))
  }

  async image({ inPlace } = { inPlace: false }): Promise<StructureImage> {
    // Whoever wants it in place is about to destroy the tree.
    if (inPlace) await this.#merge?.giveUp()
    const arena = this.#arena
    if (arena === undefined) return { meta: { keys: 0 }, parts: [], release: () => {} }
    const totals = this.#totals
    return arena.during(() => (inPlace ? imageInPlace : imageOf)(this.#device, arena, totals))
  }

  stats(): StructureStats {
    const { keys, payloads, garbageBytes } = this.#totals
    return {
      keys,
      payloads,
      deviceBytes: (this.#arena?.bytes ?? 0) + (this.#merge?.bytes ?? 0),
      usedBytes: this.#arena?.usedBytes ?? 0,
      garbageBytes,
    }
  }

  destroy(): void {
    const arena = this.#arena
    const merge = this.#merge
    if (merge === undefined) arena?.destroy()
    else {
      void merge.giveUp()
      // It still reads the arena's separators.
      void merge.over.then(() => arena?.destroy())
    }
    this.#arena = undefined
    this.#totals = NOTHING
  }

  /** @returns whether there is room for that */
  async #beginMerge(arena: Arena): Promise<boolean> {
    const replace = (merged: Arena, totals: TreeTotals) => {
      this.#arena = merged
      this.#totals = totals
    }
    const tree = { arena, totals: () => this.#totals, replace }
    const merge = await BackgroundMerge.begin(this.#device, this.shape, this.#parts, tree)
    this.#merge = merge
    void merge?.over.then((outcome) => this.#endMerge(outcome))
    return merge !== undefined
  }

  #endMerge(outcome: MergeOutcome): void {
    this.#merge = undefined
    if (outcome !== 'given up') this.#mergeFailed = outcome instanceof WarpdexError
  }

  async #compact(arena: Arena): Promise<void> {
    const { keys } = this.#totals
    if (keys === 0) {
      this.#arena = undefined
    } else {
      const { compactor, findOrder } = this.#parts
      this.#arena = await compactor.compact(arena, keys, (recorder, scratch) =>
        findOrder(recorder, scratch, arena, keys),
      )
    }
    arena.destroy()
    this.#totals = compacted(this.#totals)
    if (this.#arena !== undefined) await this.#parts.directories?.provide(this.#arena, keys)
  }

  /** Keys of a column, by its length or its offsets. */
  #count(keys: Uint8Array, keyOffsets: Uint32Array | undefined): number {
    const { keyType } = this.shape
    if (!isFixedKeyType(keyType)) {
      if (keyOffsets !== undefined && keyOffsets.length > 0) return keyOffsets.length - 1
      throw new WarpdexError('WRONG_KEY_TYPE', `a column of ${keyType} keys needs its offsets`)
    }
    const size = keyBytes(keyType)
    if (keys.byteLength % size === 0) return keys.byteLength / size
    throw new WarpdexError(
      'WRONG_KEY_TYPE',
      `${keys.byteLength} bytes are no column of ${keyType} keys, which take ${size} bytes each`,
    )
  }

  /** What comes in the place of keys that were not found. */
  #noKeys(count: number): { keys: Uint8Array; keyOffsets?: Uint32Array } {
    const { keyType } = this.shape
    if (isFixedKeyType(keyType)) return { keys: new Uint8Array(count * keyBytes(keyType)) }
    return { keys: new Uint8Array(0), keyOffsets: new Uint32Array(count + 1) }
  }

  #noTokens(ranges: number): { tokens: Uint8Array; tokenOffsets?: Uint32Array } {
    const { keyType } = this.shape
    if (isFixedKeyType(keyType)) return { tokens: new Uint8Array(ranges * (keyBytes(keyType) + 4)) }
    return { tokens: new Uint8Array(0), tokenOffsets: new Uint32Array(ranges + 1) }
  }
}
