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
import { Primitives } from '../primitives/primitives.js'
import { Arena } from './arena.js'
import { DirectoryKeeper, hasDirectory } from './directory.js'
import { arenaFromImage, imageInPlace, imageOf, type ReadPart, type TreeTotals } from './image.js'
import { mostDigits, treeShape } from './layout.js'
import { explainSequential, refusePartitioned } from './locate/no-partitions.js'
import { TreeReader } from './read/tree-reader.js'
import { Compactor, type TupleOrder } from './write/compact.js'
import { LiveOrder } from './write/live-order.js'
import { type PreparedBatch, TreeWriter, type WriteEffect } from './write/tree-writer.js'

/** Room of a new arena; regions double from there. */
const FIRST_NEED = { nodes: 63, tuples: 64, extentWords: 64 }

/** Garbage that is left alone: collecting it would free next to nothing. */
const LITTLE_GARBAGE_BYTES = 1024 * 1024
const LITTLE_GARBAGE_TUPLES = 16 * 1024

const NOTHING: TreeTotals = { keys: 0, payloads: 0, tuplesRemoved: 0, garbageBytes: 0 }

/** What works on trees of one shape and holds nothing of any. */
interface Parts {
  readonly reader: TreeReader
  readonly writer: TreeWriter
  readonly compactor: Compactor
  /** Only where trees may have a directory. */
  readonly directories: DirectoryKeeper | undefined
  readonly findOrder: (
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    tuples: number,
  ) => Promise<TupleOrder>
}

/** The parts of each device by shape: making them again for each of thousands of trees would take longer than all else. */
const partsByDevice = new WeakMap<Device, Map<string, Promise<Parts>>>()

/**
 * An updatable index: Volk's prefix tree with 4-bit digits, made practical (design, "Prefix tree"). An empty tree owns no
 * device memory.
 */
export class PrefixTree implements IndexStructure {
  readonly shape: IndexShape
  readonly #device: Device
  readonly #parts: Parts
  readonly #reader: TreeReader
  #arena: Arena | undefined
  #totals: TreeTotals

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
    return new PrefixTree(device, shape, await PrefixTree.#partsFor(device, shape))
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
    const parts = await PrefixTree.#partsFor(device, shape)
    if (meta.keys === 0) return new PrefixTree(device, shape, parts)
    const content = await arenaFromImage(device, treeShape(shape), meta, readPart)
    const tree = new PrefixTree(device, shape, parts, content)
    try {
      await parts.directories?.provide(content.arena, content.totals.keys)
      return tree
    } catch (error) {
      tree.destroy()
      throw error
    }
  }

  static #partsFor(device: Device, shape: IndexShape): Promise<Parts> {
    const byShape = partsByDevice.get(device) ?? new Map<string, Promise<Parts>>()
    partsByDevice.set(device, byShape)
    const key = JSON.stringify(shape)
    let parts = byShape.get(key)
    if (parts === undefined) {
      parts = PrefixTree.#makeParts(device, shape)
      byShape.set(key, parts)
      // What failed for want of memory may succeed later.
      parts.catch(() => byShape.delete(key))
    }
    return parts
  }

  static async #makeParts(device: Device, shape: IndexShape): Promise<Parts> {
    const primitives = await Primitives.create(device)
    const tree = treeShape(shape)
    const { form } = tree
    const [reader, writer, compactor, directories, liveOrder] = await Promise.all([
      TreeReader.create(device, primitives, shape),
      TreeWriter.create(device, primitives, shape),
      Compactor.create(device, primitives, tree),
      hasDirectory(tree) ? DirectoryKeeper.create(device) : undefined,
      form === undefined ? undefined : LiveOrder.create(device, primitives, tree, form),
    ])
    const findOrder: Parts['findOrder'] = async (recorder, scratch, arena, tuples) =>
      liveOrder?.order(recorder, scratch, arena, tuples) ?? {
        recorder,
        tuples: reader.order(recorder, scratch, arena, tuples),
      }
    return { reader, writer, compactor, directories, findOrder }
  }

  async get(keys: Uint8Array, keyOffsets?: Uint32Array, traversal?: Traversal): Promise<GetResult> {
    refusePartitioned(traversal)
    const count = this.#count(keys, keyOffsets)
    if (this.#arena !== undefined && count > 0) return this.#reader.get(this.#arena, keys, keyOffsets)
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
    refusePartitioned(request.traversal)
    const count = this.#count(request.keys, request.keyOffsets)
    if (this.#arena !== undefined && count > 0) return this.#reader.getNext(this.#arena, request)
    return {
      found: new Uint8Array(Math.ceil(count / 8)),
      ...this.#noKeys(count),
      payloads: new Uint8Array(count * this.shape.payloadBytes),
      sequences: new Uint8Array(count * 4),
    }
  }

  async explain(keys: Uint8Array, keyOffsets?: Uint32Array, traversal?: Traversal): Promise<Explanation> {
    refusePartitioned(traversal)
    return explainSequential(this.#count(keys, keyOffsets), mostDigits(treeShape(this.shape), keyOffsets))
  }

  async prepare(batch: WriteBatch): Promise<PreparedWrite> {
    refusePartitioned(batch.traversal)
    if (this.#count(batch.keys, batch.keyOffsets) === 0)
      return { codes: new Uint8Array(0), apply() {}, discard() {} }
    const prepared = await this.#prepareWithRoom(batch)
    return {
      codes: prepared.codes,
      apply: () => {
        prepared.apply()
        this.#totals = after(this.#totals, prepared.effect)
      },
      discard: () => prepared.discard(),
    }
  }

  /** Garbage may fill a region long before compaction is worthwhile for its own sake; then it makes room for the batch. */
  async #prepareWithRoom(batch: WriteBatch): Promise<PreparedBatch> {
    try {
      return await this.#parts.writer.prepare(await this.#provideArena(), batch)
    } catch (error) {
      const { tuplesRemoved, garbageBytes } = this.#totals
      const hasGarbage = tuplesRemoved > 0 || garbageBytes > 0
      if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY' || !hasGarbage) throw error
      await this.compact()
      return this.#parts.writer.prepare(await this.#provideArena(), batch)
    }
  }

  async #provideArena(): Promise<Arena> {
    this.#arena ??= await Arena.create(this.#device, treeShape(this.shape), FIRST_NEED)
    return this.#arena
  }

  async compactIfWorthwhile(): Promise<boolean> {
    const arena = this.#arena
    const { keys, tuplesRemoved, garbageBytes } = this.#totals
    if (arena === undefined) return false
    const worthwhile =
      garbageBytes > Math.max(LITTLE_GARBAGE_BYTES, arena.usedBytes / 2) ||
      tuplesRemoved > Math.max(LITTLE_GARBAGE_TUPLES, keys)
    if (!worthwhile) return false
    await this.#compact(arena)
    return true
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

function after(totals: TreeTotals, effect: WriteEffect): TreeTotals {
  return {
    keys: totals.keys + effect.tuplesCreated - effect.tuplesRemoved,
    payloads: totals.payloads + effect.payloadsAdded - effect.payloadsRemoved,
    tuplesRemoved: totals.tuplesRemoved + effect.tuplesRemoved,
    garbageBytes: totals.garbageBytes + effect.garbageBytes,
  }
}
