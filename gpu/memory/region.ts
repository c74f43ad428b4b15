import { toWarpdexError } from '../../protocol/errors.js'
import type { Device } from '../device/device.js'

/** Bytes of a page, the unit in which regions are sized. Small, because most indexes of a server are. */
const PAGE_BYTES = 16 * 1024

/** Large regions are sized in this, the large page of GPUs: what shares a page with nothing else is faster to reach. */
const LARGE_PAGE_BYTES = 2 * 1024 * 1024

/**
 * Pages of one role (nodes, tuples, …) of an arena in one buffer, handed out by a bump pointer. References into it are relative
 * to its start, so it grows by being copied (Volk §4.2). What was never handed out is zero, unless
 * its owner wrote there.
 */
export class Region {
  readonly label: string
  readonly #device: Device
  readonly #wordsPerRecord: number
  #buffer: GPUBuffer
  #records = 0

  private constructor(device: Device, label: string, wordsPerRecord: number, buffer: GPUBuffer) {
    this.#device = device
    this.label = label
    this.#wordsPerRecord = wordsPerRecord
    this.#buffer = buffer
  }

  /**
   * A region with room for `records` records of `wordsPerRecord` words.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async create(
    device: Device,
    label: string,
    wordsPerRecord: number,
    records: number,
  ): Promise<Region> {
    const bytes = regionBytes(device, wordsPerRecord, records)
    return new Region(device, label, wordsPerRecord, await device.allocate(bytes, label))
  }

  get buffer(): GPUBuffer {
    return this.#buffer
  }

  /** Records handed out. */
  get records(): number {
    return this.#records
  }

  get usedBytes(): number {
    return this.#records * this.#wordsPerRecord * 4
  }

  get bytes(): number {
    return this.#buffer.size
  }

  /** Bytes of a region that has room for `records` more records and no more. */
  leastBytes(records: number): number {
    return regionBytes(this.#device, this.#wordsPerRecord, this.#records + records)
  }

  /** Bytes of the region after `reserve`, where the device has room for that. */
  reservedBytes(records: number): number {
    const least = this.leastBytes(records)
    if (least <= this.bytes) return this.bytes
    return Math.max(least, sizeFor(this.#device, Math.min(2 * this.bytes, this.#device.regionBytes)))
  }

  /**
   * Makes room for `records` more records. Doubles where the device has room for that, so that growing stays linear.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, with nothing changed
   */
  async reserve(records: number): Promise<void> {
    const least = this.leastBytes(records)
    const most = this.reservedBytes(records)
    if (most > least) {
      try {
        return await this.#resize(most)
      } catch (error) {
        if (toWarpdexError(error).code !== 'OUT_OF_DEVICE_MEMORY') throw error
      }
    }
    await this.#resize(least)
  }

  /**
   * Makes room for `records` more records and gives back what is beyond it.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, with nothing changed
   */
  async fit(records: number): Promise<void> {
    await this.#resize(this.leastBytes(records))
  }

  async #resize(bytes: number): Promise<void> {
    if (bytes === this.bytes) return
    const resized = await this.#device.allocate(bytes, this.label)
    const recorder = this.#device.record()
    recorder.copy(this.#buffer, 0, resized, 0, this.usedBytes)
    recorder.submit()
    this.#buffer.destroy()
    this.#buffer = resized
  }

  /** Hands out `records` records; the first one's number. They must have been reserved. */
  take(records: number): number {
    const first = this.#records
    this.#records += records
    return first
  }

  /** Takes all records back; their bytes stay. */
  empty(): void {
    this.#records = 0
  }

  destroy(): void {
    this.#buffer.destroy()
  }
}

/** Bytes of a region with room for `records` records of `wordsPerRecord` words. */
export function regionBytes(device: Device, wordsPerRecord: number, records: number): number {
  return sizeFor(device, records * wordsPerRecord * 4)
}

/** Bytes of a buffer for `bytes` bytes: whole pages, unless that would be more than a binding holds. */
function sizeFor(device: Device, bytes: number): number {
  const page = bytes < 16 * LARGE_PAGE_BYTES ? PAGE_BYTES : LARGE_PAGE_BYTES
  const whole = Math.max(1, Math.ceil(bytes / page)) * page
  return Math.max(bytes, Math.min(whole, Math.floor(device.regionBytes / page) * page))
}
