import type { Device, Kernels } from '../../../gpu/device/device.js'
import { Region } from '../../../gpu/memory/region.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import { PAPER_KERNELS } from '../kernels.js'

/** Words of a name, padded with zeros. */
const NAME_WORDS = LIMITS.indexNameBytes / 4
/** Words of a slot: id, bytes of the name, the name. `dictionary.wesl` has the same number. */
const SLOT_WORDS = 2 + NAME_WORDS

/** The word of a slot that says how long its name is; 0 in a free slot. */
const LENGTH_WORD = 1

/**
 * The names of all indexes on the device, each with the index's id (Volk et al. §4.1, Figure 5). Names lie in slots of one size, so
 * that a lookup is one thread a slot; slots of removed names are used again. Changes and lookups take effect in the order of the
 * calls.
 */
export class DeviceDictionary {
  readonly #device: Device
  readonly #kernels: Kernels<'find_name'>
  readonly #slots: Region
  readonly #slotOf = new Map<string, number>()
  readonly #free: number[] = []

  private constructor(device: Device, slots: Region) {
    this.#device = device
    this.#kernels = device.kernels('volk/dictionary', ['find_name'], {}, PAPER_KERNELS)
    this.#slots = slots
  }

  /**
   * An empty dictionary.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async create(device: Device): Promise<DeviceDictionary> {
    return new DeviceDictionary(device, await Region.create(device, 'derived', 'index names', SLOT_WORDS, 1))
  }

  /** Names that are in it. */
  get size(): number {
    return this.#slotOf.size
  }

  /** Bytes of device memory. */
  get deviceBytes(): number {
    return this.#slots.bytes
  }

  /**
   * Adds a name that is not there yet. Not to be called again before it is done.
   * @param id a u32
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async add(name: string, id: number): Promise<void> {
    const bytes = encode(name)
    if (this.#slotOf.has(name))
      throw new WarpdexError('INTERNAL', `the name ${JSON.stringify(name)} is there`)
    const slot = this.#free.pop() ?? (await this.#newSlot())
    this.#slotOf.set(name, slot)
    const entry = new Uint32Array(SLOT_WORDS)
    entry[0] = id
    entry[LENGTH_WORD] = bytes.length
    const column = new Uint8Array(entry.buffer)
    column.set(bytes, 4 * (SLOT_WORDS - NAME_WORDS))
    this.#device.upload(this.#slots.buffer, column, slot * SLOT_WORDS * 4)
  }

  /** Removes a name; whether it was there. */
  remove(name: string): boolean {
    const slot = this.#slotOf.get(name)
    if (slot === undefined) return false
    this.#slotOf.delete(name)
    this.#free.push(slot)
    this.#device.upload(this.#slots.buffer, new Uint8Array(4), (slot * SLOT_WORDS + LENGTH_WORD) * 4)
    return true
  }

  /**
   * Looks a name up on the device.
   * @returns the id that it was added with
   * @throws WarpdexError `DEVICE_LOST`, `OUT_OF_DEVICE_MEMORY`
   */
  async find(name: string): Promise<number | undefined> {
    const bytes = encode(name)
    const scratch = this.#device.scratch()
    let reply: Promise<Uint8Array[]>
    try {
      const sought = scratch.words(NAME_WORDS)
      const found = scratch.words(2)
      this.#device.upload(sought, bytes)
      const recorder = this.#device.record()
      recorder.clear(found, 0, 8)
      const { buffer: slots, records } = this.#slots
      const params = { slots: records, bytes: bytes.length }
      recorder.dispatch(this.#kernels.find_name, { slots, sought, found }, params, records)
      reply = this.#device.submitAndRead(recorder, [{ buffer: found, bytes: 8 }])
    } finally {
      scratch.release()
    }
    const [column] = await reply
    const [isFound, id] = new Uint32Array(column.buffer, column.byteOffset, 2)
    return isFound === 1 ? id : undefined
  }

  destroy(): void {
    this.#slots.destroy()
  }

  async #newSlot(): Promise<number> {
    await this.#slots.reserve(1)
    return this.#slots.take(1)
  }
}

function encode(name: string): Uint8Array {
  const bytes = new TextEncoder().encode(name)
  if (bytes.length > 0 && bytes.length <= LIMITS.indexNameBytes) return bytes
  throw new WarpdexError(
    'BAD_REQUEST',
    `a name of ${bytes.length} bytes is none; names of indexes have 1 to ${LIMITS.indexNameBytes}`,
  )
}
