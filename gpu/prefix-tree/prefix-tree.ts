import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { Explanation, Traversal } from '../../protocol/traversal.js'
import { isFixedKeyType, keyBytes } from '../../protocol/types.js'
import type { Device } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
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
import type { Scratch } from '../memory/scratch.js'
import { type Allowance, Arena } from './arena.js'
import { arenaFromImage, imageInPlace, imageOf, type ReadPart, type TreeTotals } from './image.js'
import { keyLengths, treeShape } from './layout.js'
import type { Ready } from './locate/locator.js'
import type { Batch } from './locate/traversal-planner.js'
import { type Parts, partsFor } from './parts.js'
import type { Queries } from './read/read-context.js'
import type { TreeReader } from './read/tree-reader.js'
import type { CutPlace, CutSide } from './write/cut.js'
import type { Items } from './write/items.js'
import type { PreparedBatch, WriteEffect } from './write/tree-writer.js'

/** Room of a new arena; regions double from there. */
const FIRST_NEED = { nodes: 63, tuples: 64, extentWords: 64 }

/** Garbage that is left alone: collecting it would free next to nothing. */
const LITTLE_GARBAGE_BYTES = 1024 * 1024
const LITTLE_GARBAGE_TUPLES = 16 * 1024

/** A CSS-tree's delta is merged past so many tuples, those that have left included, and past so much of the sorted part. */
const LITTLE_DELTA_TUPLES = 16 * 1024
const DELTA_SHARE = 1 / 8

/** Share of a binding past which a tree is to be cut in two before a write needs it. */
const NEARLY_FULL = 7 / 8

const NOTHING: TreeTotals = { keys: 0, payloads: 0, tuplesRemoved: 0, garbageBytes: 0 }

/** Records a get of a batch's keys, into buffers for a bit and for a padded payload of each. */
export type DeviceGet = (
  recorder: Recorder,
  scratch: Scratch,
  queries: Queries,
  found: GPUBuffer,
  payloads: GPUBuffer,
) => void

/**
 * An updatable index: Volk's prefix tree with 4-bit digits, made practical (design, "Prefix tree"), and with structure `css` a CSS-tree that
 * has one for its delta (`css-tree/sorted-part.ts`). An empty tree owns no device memory.
 */
export class PrefixTree implements IndexStructure {
  readonly shape: IndexShape
  readonly #device: Device
  readonly #parts: Parts
  readonly #reader: TreeReader
  /** Bytes of device memory that it may take; whoever owns it may lower them. */
  allowance: Allowance
  #arena: Arena | undefined
  #totals: TreeTotals

  private constructor(
    device: Device,
    shape: IndexShape,
    parts: Parts,
    content?: { arena: Arena | undefined; totals: TreeTotals },
  ) {
    this.#device = device
    this.shape = shape
    this.#parts = parts
    this.#reader = parts.reader
    this.allowance = () => device.structureBytes
    if (content?.arena !== undefined) this.#own(content.arena)
    this.#totals = content?.totals ?? NOTHING
  }

  /** An empty tree. */
  static async create(device: Device, shape: IndexShape): Promise<PrefixTree> {
    return new PrefixTree(device, shape, await partsFor(device, shape))
  }

  /**
   * A tree from its image.
   * @param mostBytes bytes of device memory that it may take
   * @throws WarpdexError `DAMAGED_FILE`, `OUT_OF_DEVICE_MEMORY`
   */
  static async restore(
    device: Device,
    shape: IndexShape,
    meta: StructureImage['meta'],
    readPart: ReadPart,
    mostBytes?: number,
  ): Promise<PrefixTree> {
    const parts = await partsFor(device, shape)
    if (meta.keys === 0) return new PrefixTree(device, shape, parts)
    const content = await arenaFromImage(device, treeShape(shape), meta, readPart, mostBytes)
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
      const coming = this.#ready(arena, this.#batch(count, keyOffsets), traversal)
      return this.#reader.get(arena, keys, keyOffsets, coming && (await coming))
    }
    return {
      found: new Uint8Array(Math.ceil(count / 8)),
      payloads: new Uint8Array(count * this.shape.payloadBytes),
    }
  }

  async getAll(keys: Uint8Array, limit: number, keyOffsets?: Uint32Array): Promise<GetAllResult> {
    const count = this.#count(keys, keyOffsets)
    if (this.#arena !== undefined && count > 0) {
      return this.#reader.getAll(this.#arena, keys, limit, keyOffsets)
    }
    return { offsets: new Uint32Array(count + 1), payloads: new Uint8Array(0) }
  }

  async count(keys: Uint8Array, keyOffsets?: Uint32Array): Promise<Uint8Array> {
    const count = this.#count(keys, keyOffsets)
    if (this.#arena !== undefined && count > 0) return this.#reader.count(this.#arena, keys, keyOffsets)
    return new Uint8Array(count * 4)
  }

  async scan(request: ScanRequest): Promise<ScanResult> {
    const { ranges, limit } = request
    if (this.#arena !== undefined && ranges > 0 && limit > 0) return this.#reader.scan(this.#arena, request)
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
      const coming = this.#ready(arena, this.#batch(count, keyOffsets), traversal)
      return this.#reader.getNext(arena, request, coming && (await coming))
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
    const explanation = await traversals.explain(arena, this.#totals.keys, batch, traversal)
    if (arena === undefined || explanation.partitions === null) return explanation
    return { ...explanation, tables: await this.#reader.tables(arena, keys, keyOffsets) }
  }

  async prepare(batch: WriteBatch): Promise<PreparedWrite> {
    this.#parts.traversals.check(batch.traversal)
    if (this.#count(batch.keys, batch.keyOffsets) === 0)
      return { codes: new Uint8Array(0), apply() {}, discard() {} }
    return this.#prepareWithRoom(() => this.#prepareNow(batch))
  }

  /**
   * As `prepare`, for a batch that is on the device.
   * @param provide brings its columns into scratch buffers, each time that it is called
   */
  prepareItems(
    provide: (scratch: Scratch) => Items,
    batch: Batch,
    traversal: Traversal | undefined,
  ): Promise<PreparedWrite> {
    return this.#prepareWithRoom(async () => {
      const arena = await this.#provideArena()
      const ready = await this.#ready(arena, batch, traversal)
      const scratch = this.#device.scratch()
      let items: Items
      try {
        items = provide(scratch)
      } catch (error) {
        scratch.release()
        throw error
      }
      return this.#parts.writer.prepareItems(arena, scratch, items, ready)
    })
  }

  /** Makes ready to record a get of keys that are on the device: a bit a key, and a padded payload a key. */
  async prepareGet(batch: Batch, traversal: Traversal | undefined): Promise<DeviceGet> {
    this.#parts.traversals.check(traversal)
    const arena = this.#arena
    const { count } = batch
    if (arena === undefined) {
      return (recorder, _scratch, _queries, found, payloads) => {
        recorder.clear(found, 0, 4 * Math.ceil(count / 32))
        recorder.clear(payloads, 0, 4 * count * treeShape(this.shape).payloadWords)
      }
    }
    const ready = await this.#ready(arena, batch, traversal)
    return (recorder, scratch, queries, found, payloads) =>
      this.#reader.recordGet(recorder, scratch, arena, queries, found, payloads, count, ready)
  }

  /** Records the number of payloads of each of `count` keys that are on the device: a word a key. */
  recordCount(recorder: Recorder, queries: Queries, counts: GPUBuffer, count: number): void {
    if (this.#arena === undefined) recorder.clear(counts, 0, 4 * count)
    else this.#reader.recordCount(recorder, this.#arena, queries, counts, count)
  }

  /**
   * Shares this tree's content out to two new ones, at a key; it stays as it is.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async cut(place: CutPlace): Promise<{ lower: PrefixTree; upper: PrefixTree; boundary: Uint8Array }> {
    const arena = this.#arena
    const { keys } = this.#totals
    if (arena === undefined || keys === 0) {
      if (!('key' in place)) throw new WarpdexError('INTERNAL', 'an empty tree can only be cut at a key')
      const empty = () => new PrefixTree(this.#device, this.shape, this.#parts)
      return { lower: empty(), upper: empty(), boundary: place.key }
    }
    const cutter = await this.#parts.cutter()
    const { lower, upper, boundary } = await cutter.cut(arena, this.#totals, place, (recorder, scratch) =>
      this.#parts.findOrder(recorder, scratch, arena, keys),
    )
    return { lower: await this.#sideOf(lower), upper: await this.#sideOf(upper), boundary }
  }

  async #sideOf({ arena, keys, payloads }: CutSide): Promise<PrefixTree> {
    const totals = { ...NOTHING, keys, payloads }
    const tree = new PrefixTree(this.#device, this.shape, this.#parts, { arena, totals })
    if (arena !== undefined) await this.#parts.directories?.provide(arena, keys)
    return tree
  }

  /** Whether one of its parts has nearly reached what the device can bind. */
  get isNearlyFull(): boolean {
    const regions = [...(this.#arena?.regions.values() ?? [])]
    const most = this.#device.regionBytes * NEARLY_FULL
    return regions.some(({ usedBytes }) => usedBytes > most)
  }

  async #prepareWithRoom(prepareNow: () => Promise<PreparedBatch>): Promise<PreparedWrite> {
    const prepared = await this.#makingRoom(prepareNow)
    return {
      codes: prepared.codes,
      apply: () => {
        prepared.apply()
        this.#totals = after(this.#totals, prepared.effect)
      },
      discard: () => prepared.discard(),
    }
  }

  /** Garbage, or a delta's nodes, may fill a region long before compaction is worthwhile for its own sake; then it makes room. */
  async #makingRoom(prepareNow: () => Promise<PreparedBatch>): Promise<PreparedBatch> {
    try {
      return await prepareNow()
    } catch (error) {
      const { tuplesRemoved, garbageBytes } = this.#totals
      const hasGarbage = tuplesRemoved > 0 || garbageBytes > 0 || this.#hasDelta()
      if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY' || !hasGarbage) throw error
      await this.compact()
      return prepareNow()
    }
  }

  /** Whether the nodes of a CSS-tree's delta would go with a merge. */
  #hasDelta(): boolean {
    const { sorted, tuples } = this.#arena ?? {}
    return sorted !== undefined && tuples !== undefined && tuples.records > sorted.tuples
  }

  async #prepareNow(batch: WriteBatch): Promise<PreparedBatch> {
    const { keys, keyOffsets, traversal } = batch
    const arena = await this.#provideArena()
    const ready = await this.#ready(arena, this.#batch(this.#count(keys, keyOffsets), keyOffsets), traversal)
    return this.#parts.writer.prepare(arena, batch, ready)
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

  #own(arena: Arena): Arena {
    arena.allowance = () => this.allowance()
    this.#arena = arena
    return arena
  }

  async #provideArena(): Promise<Arena> {
    const need = FIRST_NEED
    return (
      this.#arena ??
      this.#own(await Arena.create(this.#device, treeShape(this.shape), need, this.allowance()))
    )
  }

  async compactIfWorthwhile(): Promise<boolean> {
    const arena = this.#arena
    const { keys, tuplesRemoved, garbageBytes } = this.#totals
    if (arena === undefined) return false
    const worthwhile =
      garbageBytes > Math.max(LITTLE_GARBAGE_BYTES, arena.usedBytes / 2) ||
      tuplesRemoved > Math.max(LITTLE_GARBAGE_TUPLES, keys) ||
      isMergeDue(arena, tuplesRemoved)
    if (worthwhile) await this.#compact(arena)
    if (this.#arena !== undefined) await this.#parts.traversals.maintain(this.#arena)
    return worthwhile
  }

  /** Rebuilds the tree without its garbage, whether that is worthwhile or not. */
  async compact(): Promise<void> {
    if (this.#arena !== undefined) await this.#compact(this.#arena)
  }

  async image({ inPlace } = { inPlace: false }): Promise<StructureImage> {
    if (this.#arena !== undefined) {
      return (inPlace ? imageInPlace : imageOf)(this.#device, this.#arena, this.#totals)
    }
    return { meta: { keys: 0 }, parts: [], release: () => {} }
  }

  stats(): StructureStats {
    const { keys, payloads, garbageBytes } = this.#totals
    return {
      keys,
      payloads,
      shards: 1,
      deviceBytes: this.#arena?.bytes ?? 0,
      usedBytes: this.#arena?.usedBytes ?? 0,
      garbageBytes,
    }
  }

  destroy(): void {
    this.#arena?.destroy()
    this.#arena = undefined
    this.#totals = NOTHING
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
    this.#totals = { ...this.#totals, tuplesRemoved: 0, garbageBytes: 0 }
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

/** Whether so much of a CSS-tree was written since the last merge, or has left it, that merging is worthwhile. */
function isMergeDue({ sorted, tuples }: Arena, tuplesRemoved: number): boolean {
  if (sorted === undefined) return false
  const changed = tuples.records - sorted.tuples + tuplesRemoved
  return changed > Math.max(LITTLE_DELTA_TUPLES, sorted.tuples * DELTA_SHARE)
}

function after(totals: TreeTotals, effect: WriteEffect): TreeTotals {
  return {
    keys: totals.keys + effect.tuplesCreated - effect.tuplesRemoved,
    payloads: totals.payloads + effect.payloadsAdded - effect.payloadsRemoved,
    tuplesRemoved: totals.tuplesRemoved + effect.tuplesRemoved,
    garbageBytes: totals.garbageBytes + effect.garbageBytes,
  }
}
