import { toWarpdexError } from '../../protocol/errors.js'
import type { Device } from '../device/device.js'
import type { Recorder } from '../device/recorder.js'
import type { HostImage } from './host-copies.js'
import type { PageRun } from './page-run.js'
import type { SlabSort } from './slab.js'

/**
 * Pages of one role (nodes, tuples, …) of an arena, handed out by a bump pointer. References into it are relative
 * to its start, so that it can move (Volk §4.2): it grows into the pages behind it where they are free, and is copied to others where not. What was
 * never handed out is zero, unless its owner wrote there.
 */
export class Region {
  readonly label: string
  readonly #device: Device
  readonly #wordsPerRecord: number
  /** Its pages: the same run wherever they are, and however many. */
  readonly buffer: PageRun
  #records = 0
  #hostCopy: HostImage | undefined
  /** Its records, and how often it had been written to, when it was filled with what it has a copy of. */
  #copied = { records: 0, writes: 0 }

  private constructor(device: Device, wordsPerRecord: number, run: PageRun) {
    this.#device = device
    this.label = run.label
    this.#wordsPerRecord = wordsPerRecord
    this.buffer = run
  }

  /**
   * A region with room for `records` records of `wordsPerRecord` words.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  static async create(
    device: Device,
    sort: SlabSort,
    label: string,
    wordsPerRecord: number,
    records: number,
  ): Promise<Region> {
    const bytes = regionBytes(device, wordsPerRecord, records)
    return new Region(device, wordsPerRecord, device.allocatePages(sort, bytes, label))
  }

  /** Records handed out. */
  get records(): number {
    return this.#records
  }

  get usedBytes(): number {
    return this.#records * this.#wordsPerRecord * 4
  }

  get bytes(): number {
    return this.buffer.size
  }

  /** Bytes of a region that has room for `records` more records and no more. */
  leastBytes(records: number): number {
    return regionBytes(this.#device, this.#wordsPerRecord, this.#records + records)
  }

  /** Bytes of the region after `reserve`, where the device has room for that. */
  reservedBytes(records: number, isTight = false): number {
    const least = this.leastBytes(records)
    if (least <= this.bytes) return this.bytes
    if (isTight) return least
    return Math.max(least, this.#device.bytesOfPages(Math.min(2 * this.bytes, this.#device.regionBytes)))
  }

  /**
   * Makes room for `records` more records. Doubles as far as the device has free pages for that, so that growing stays linear.
   * @param isTight whether it grows by no more than that, because all of it goes elsewhere soon
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, with nothing changed
   */
  async reserve(records: number, isTight = false): Promise<void> {
    const least = this.leastBytes(records)
    const most = this.reservedBytes(records, isTight)
    if (most > least) {
      try {
        return await this.#resize(most, least)
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

  async #resize(bytes: number, leastBytes = bytes): Promise<void> {
    if (bytes !== this.bytes) this.#device.resizePages(this.buffer, bytes, this.usedBytes, leastBytes)
  }

  /**
   * Records a copy of what it holds into pages of their own, which whoever calls gives back.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  copied(recorder: Recorder): PageRun {
    const run = this.#device.allocatePages('copies', this.usedBytes, `copy of ${this.label}`)
    recorder.copy(this.buffer, 0, run, 0, this.usedBytes)
    return run
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

  /** What it was filled with, where that is still on the host. */
  get hostCopy(): HostImage | undefined {
    return this.#hostCopy
  }

  /** Whether it holds what it was filled with: nothing was submitted since that may write to it. */
  get isUnchanged(): boolean {
    const { records, writes } = this.#copied
    return this.#records === records && this.buffer.writes === writes
  }

  /** Keeps what it was filled with on the host, as long as there is room for it. */
  keepHostCopy(image: HostImage): void {
    this.#hostCopy = image
    this.#copied = { records: this.#records, writes: this.buffer.writes }
    this.#device.hostCopies.keep(this, image.bytes)
  }

  dropHostCopy(): void {
    this.#hostCopy = undefined
  }

  destroy(): void {
    this.#device.hostCopies.drop(this)
    this.buffer.destroy()
  }
}

/** Bytes of a region with room for `records` records of `wordsPerRecord` words. */
export function regionBytes(device: Device, wordsPerRecord: number, records: number): number {
  return device.bytesOfPages(records * wordsPerRecord * 4)
}
