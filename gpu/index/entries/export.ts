import type { Device, Kernels } from '../../device/device.js'
import type { IndexShape, NamedColumn } from '../../index-structure.js'
import { KeyRestorer } from '../../keys/restore.js'
import { readBack } from '../../memory/image-parts.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { ArenaContent } from '../arena.js'
import type { FindOrder } from '../batch/batch.js'
import { type TreeShape, treeShape } from '../layout.js'

/** Keys that are read at a time; those of variable length may be a thousand times as long. */
const GROUP_KEYS = 1 << 20
const GROUP_VARIABLE_KEYS = 1 << 16
/** Entries of lists that are read at a time. */
const WINDOW_ENTRIES = 1 << 20

/** Reads all that an index holds in key order, as the columns of `StructureEntries`. */
export class EntryExport {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #findOrder: FindOrder
  /** Only for keys of variable length. */
  readonly #restorer: KeyRestorer | undefined
  readonly #kernels: Kernels<'write_keys' | 'measure_lists' | 'mark_live' | 'write_entries'>

  /** @param findOrder finds the order of an index's keys */
  constructor(device: Device, primitives: Primitives, shape: IndexShape, findOrder: FindOrder) {
    const tree = treeShape(shape)
    this.#device = device
    this.#primitives = primitives
    this.#shape = tree
    this.#findOrder = findOrder
    this.#restorer = tree.form && new KeyRestorer(device, primitives, tree.form)
    const entryPoints = ['write_keys', 'measure_lists', 'mark_live', 'write_entries'] as const
    this.#kernels = device.kernels('index/entries/export', entryPoints, tree.conditions)
  }

  /**
   * @param content must not change until all is read
   * @param keys how many it has
   * @param firstGroup number of the first group
   * @returns the number of the group that follows
   */
  async *columns(
    content: ArenaContent,
    keys: number,
    firstGroup: number,
  ): AsyncGenerator<NamedColumn, number> {
    const order = await this.#order(content, keys)
    try {
      const size = this.#shape.form === undefined ? GROUP_KEYS : GROUP_VARIABLE_KEYS
      let number = firstGroup
      for (let first = 0; first < keys; first += size) {
        const scratch = this.#device.scratch()
        const group = { scratch, content, order, first, count: Math.min(size, keys - first) }
        try {
          for await (const { name, chunks } of this.#group(group)) yield { name: `${number}/${name}`, chunks }
        } finally {
          scratch.release()
        }
        number++
      }
      return number
    } finally {
      order.destroy()
    }
  }

  /** The order by itself: what it takes to find it is several times as large. */
  async #order(content: ArenaContent, keys: number): Promise<DeviceMemory> {
    return this.#device.withScratch(async (scratch) => {
      const { recorder, tuples } = await this.#findOrder(this.#device.record(), scratch, content, keys)
      const order = this.#device.allocatePages('copies', 4 * keys, 'order of keys')
      recorder.copy(tuples, 0, order, 0, 4 * keys)
      recorder.submit()
      return order
    })
  }

  async *#group(group: KeyGroup): AsyncGenerator<NamedColumn> {
    const { scratch, count } = group
    const { keyWords, payloadWords } = this.#shape
    const keys = scratch.words(count * keyWords)
    const payloads = scratch.words(count * payloadWords)
    const oddFlags = scratch.words(count)
    const odd = scratch.words(count)
    const total = { buffer: scratch.words(1), index: 0 }
    const recorder = this.#device.record()
    const buffers = { ...this.#buffers(group), keys, payloads, oddFlags }
    recorder.dispatch(this.#kernels.write_keys, buffers, this.#params(group, count), count)
    this.#primitives.compact(recorder, scratch, oddFlags, count, odd, total)
    recorder.submit()
    const [oddKeys] = await this.#device.readWords(total.buffer, 1)
    yield* this.#keys(group, keys)
    yield { name: 'payloads', chunks: readBack(this.#device, payloads, 4 * count * payloadWords) }
    if (oddKeys! > 0) yield* this.#lists(group, odd, oddKeys!)
  }

  /** The lists of the keys of which a payload does not tell all. */
  async *#lists(group: KeyGroup, odd: DeviceMemory, count: number): AsyncGenerator<NamedColumn> {
    const { scratch } = group
    const lists = scratch.words(3 * count)
    const spans = scratch.words(count)
    const total = { buffer: scratch.words(1), index: 0 }
    const recorder = this.#device.record()
    const buffers = { ...this.#buffers(group), odd, lists, spans }
    recorder.dispatch(this.#kernels.measure_lists, buffers, this.#params(group, count), count)
    this.#primitives.scan(recorder, scratch, spans, spans, count, total)
    recorder.submit()
    const [entries] = await this.#device.readWords(total.buffer, 1)
    yield { name: 'lists', chunks: readBack(this.#device, lists, 12 * count) }
    const found = { ...this.#buffers(group), odd, offsets: spans }
    yield { name: 'entries', chunks: this.#entries(found, this.#params(group, count), entries!) }
  }

  async *#keys({ scratch, content, count }: KeyGroup, keys: DeviceMemory): AsyncGenerator<NamedColumn> {
    const device = this.#device
    const { heap } = content
    if (this.#restorer === undefined || heap === undefined) {
      yield { name: 'keys', chunks: readBack(device, keys, 4 * count * this.#shape.keyWords) }
      return
    }
    const records = { heap: heap.buffer, records: keys }
    const measuring = device.record()
    const measured = this.#restorer.record(measuring, scratch, records, count, 0)
    measuring.submit()
    const [bytes] = await device.readWords(measured.offsets, 1, 4 * count)
    const restoring = device.record()
    const restored = this.#restorer.record(restoring, scratch, records, count, bytes!)
    restoring.submit()
    yield { name: 'keyOffsets', chunks: readBack(device, restored.offsets, 4 * (count + 1)) }
    yield { name: 'keys', chunks: readBack(device, restored.bytes, bytes!) }
  }

  /** The live entries of lists, a window after the other. */
  async *#entries(lists: GroupBuffers, group: GroupParams, entries: number): AsyncGenerator<Uint8Array> {
    const { entryStride } = this.#shape
    const { mark_live, write_entries } = this.#kernels
    for (let window = 0; window < entries; window += WINDOW_ENTRIES) {
      const count = Math.min(WINDOW_ENTRIES, entries - window)
      const scratch = this.#device.scratch()
      try {
        const flags = scratch.words(count)
        const numbers = scratch.words(count)
        const live = scratch.words(1)
        const found = scratch.words(count * entryStride)
        const params = { ...group, window, entries: count }
        const buffers = { ...lists, flags, numbers, live, entries: found }
        const recorder = this.#device.record()
        recorder.dispatch(mark_live, buffers, params, count)
        this.#primitives.compact(recorder, scratch, flags, count, numbers, { buffer: live, index: 0 })
        recorder.dispatch(write_entries, buffers, params, count)
        recorder.submit()
        const [taken] = await this.#device.readWords(live, 1)
        yield* readBack(this.#device, found, 4 * taken! * entryStride)
      } finally {
        scratch.release()
      }
    }
  }

  #buffers({ content, order }: KeyGroup): GroupBuffers {
    return { ...content.bindings, order }
  }

  #params({ first }: KeyGroup, count: number): GroupParams {
    return { count, first, shape: this.#shape.word, window: 0, entries: 0 }
  }
}

type GroupBuffers = Readonly<Record<string, DeviceMemory | undefined>>

type GroupParams = Readonly<Record<'count' | 'first' | 'shape' | 'window' | 'entries', number>>

/** Neighbouring keys that are read together. */
interface KeyGroup {
  readonly scratch: Scratch
  readonly content: ArenaContent
  readonly order: DeviceMemory
  readonly first: number
  readonly count: number
}
