import type { Device } from '../gpu/device/device.js'
import { Arena } from '../gpu/index/arena.js'
import { uploadItems } from '../gpu/index/batch/items.js'
import { treeShape } from '../gpu/index/layout.js'
import { ReadContext } from '../gpu/index/read/read-context.js'
import { createReads, type Reads } from '../gpu/index/read/reads.js'
import type { SearchForm } from '../gpu/index/read/scan.js'
import { ScanRanges } from '../gpu/index/read/scan-ranges.js'
import { Compactor } from '../gpu/index/write/compact.js'
import { liveOrder } from '../gpu/index/write/live-order.js'
import { TreeWriter } from '../gpu/index/write/tree-writer.js'
import type { IndexShape, ReadColumns, ScanOptions } from '../gpu/index-structure.js'
import { Primitives } from '../gpu/primitives/primitives.js'
import { type Column, countOf } from '../protocol/columns.js'
import type { WriteOp } from '../protocol/types.js'
import { numberedPayloads } from './keys.js'

interface Parts {
  readonly reader: Reads
  readonly writer: TreeWriter
  readonly compactor: Compactor
  readonly ranges: ScanRanges
}

/** Entries that a timed walk finds at least, by being repeated: less would be lost in the time that a submission takes. */
const TIMED_ENTRIES = 2 ** 20

/** More than random keys take, so that no region grows while it is measured. */
const NODES_PER_KEY = 0.6

/** One tree whose operations are timed, by wall clock with submission. */
export class OrderedTree {
  readonly shape: IndexShape
  readonly #device: Device
  readonly #parts: Parts
  #arena: Arena
  #keys = 0

  private constructor(device: Device, shape: IndexShape, parts: Parts, arena: Arena) {
    this.shape = shape
    this.#device = device
    this.#parts = parts
    this.#arena = arena
  }

  /** An empty tree with room for so many keys of so many bytes in all. */
  static async create(
    device: Device,
    shape: IndexShape,
    count: number,
    keyBytes: number,
  ): Promise<OrderedTree> {
    const primitives = await Primitives.create(device)
    const tree = treeShape(shape)
    const context = new ReadContext(device, primitives, shape)
    const reader = createReads(device, primitives, shape)
    const order = liveOrder(device, primitives, tree, reader.breadthFirst)
    const parts = {
      reader,
      writer: new TreeWriter(device, primitives, shape),
      compactor: new Compactor(device, primitives, tree, order),
      ranges: new ScanRanges(context),
    }
    const room = {
      nodes: Math.ceil(NODES_PER_KEY * count),
      tuples: count,
      extentWords: 1,
      keyWords: keyBytes / 2,
    }
    return new OrderedTree(device, shape, parts, await Arena.create(device, tree, room))
  }

  get bytesPerKey(): number {
    return this.#arena.usedBytes / this.#keys
  }

  /** Seconds to write a batch of keys that is on the device. */
  async write(ops: WriteOp, keys: Column): Promise<number> {
    const { payloadWords } = treeShape(this.shape)
    const payloads = { bytes: numberedPayloads(payloadWords, 0, countOf(keys)), width: 4 * payloadWords }
    const scratch = this.#device.scratch()
    const items = uploadItems(this.#device, scratch, this.shape, { ops, keys, payloads })
    await this.#device.gpu.queue.onSubmittedWorkDone()
    const start = performance.now()
    const { apply, change } = await this.#parts.writer.prepareItems(this.#arena, scratch, items)
    apply()
    await this.#device.gpu.queue.onSubmittedWorkDone()
    this.#keys += change.keys
    return (performance.now() - start) / 1000
  }

  async compact(): Promise<void> {
    const source = this.#arena
    this.#arena = await this.#parts.compactor.compact(source, this.#keys)
    source.destroy()
  }

  /** Seconds for the entries of ranges to be found by walking, and nothing else. */
  async walk(request: ScanOptions & ReadColumns): Promise<number> {
    const { ranges: count, limit, reverse = false } = request
    const { ranges, reader } = this.#parts
    const { queue } = this.#device.gpu
    const scratch = this.#device.scratch()
    const preparing = this.#device.record()
    const search = { ...ranges.record({ recorder: preparing, scratch }, request), count, reverse, limit }
    preparing.submit()
    await queue.onSubmittedWorkDone()
    const times = this.#device.facts.software ? 1 : Math.max(1, Math.floor(TIMED_ENTRIES / (count * limit)))
    const recorder = this.#device.record()
    for (let i = 0; i < times; i++) reader.scan.walk({ recorder, scratch, arena: this.#arena }, search)
    const start = performance.now()
    recorder.submit()
    await queue.onSubmittedWorkDone()
    scratch.release()
    return (performance.now() - start) / 1000 / times
  }

  /** Seconds of a whole scan, results read back, and the keys that it finds. */
  async scan(
    request: ScanOptions & ReadColumns,
    form?: SearchForm,
  ): Promise<{ seconds: number; keys: Uint8Array }> {
    const start = performance.now()
    const { keys } = await this.#parts.reader.scan.run({ arena: this.#arena }, request, request, form)
    return { seconds: (performance.now() - start) / 1000, keys: keys.bytes }
  }

  /** Seconds of a whole getNext, results read back. */
  async getNext(keys: Column, reverse: boolean): Promise<number> {
    const start = performance.now()
    const tree = { arena: this.#arena, keys: this.#keys, plan: undefined }
    const asked = { keys, count: countOf(keys) }
    await this.#parts.reader.operations.getNext.run(tree, { op: 'getNext', reverse }, asked)
    return (performance.now() - start) / 1000
  }

  destroy(): void {
    this.#arena.destroy()
  }
}
