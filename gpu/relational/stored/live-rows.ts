import { asBytes } from '../../../protocol/columns.js'
import { type RemovedRows, WORD_ROWS } from '../../../protocol/removed-rows.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import { Region } from '../../memory/region.js'
import type { Scratch } from '../../memory/scratch.js'
import type { LiveRows } from '../device-relation.js'
import type { AppendBits } from '../query/append-bits.js'
import type { DeviceWork } from '../query/device-work.js'
import type { RowNumbers } from '../query/fetch.js'

/** What tells live rows from deleted ones (`live-rows.wesl`). */
export class LiveRowKernels {
  readonly remove: Kernels<'remove_rows'>
  readonly #list: Kernels<'count_live' | 'list_live'>

  constructor(device: Device) {
    this.remove = device.kernels('relational/stored/live-rows', ['remove_rows'])
    this.#list = device.kernels('relational/stored/live-rows', ['count_live', 'list_live'])
  }

  /** The numbers of a relation's live rows. */
  list(work: DeviceWork, { bits, count }: LiveRows, rows: number): RowNumbers {
    const { recorder, scratch } = work
    const words = Math.ceil(rows / WORD_ROWS)
    const counts = scratch.words(words)
    const buffer = work.words(count)
    recorder.dispatch(this.#list.count_live, { bits, counts }, { count: rows }, words)
    work.kernels.primitives.scan(recorder, scratch, counts, counts, words)
    recorder.dispatch(this.#list.list_live, { bits, bases: counts, numbers: buffer }, { count: rows }, rows)
    work.moves({ read: 3 * words * 4 })
    return { buffer, outer: false, ascending: true, areAllLive: true }
  }
}

/** Which rows of a stored relation are live, from the first deletion on: a bit a row. */
export class LiveBits {
  readonly region: Region
  readonly #device: Device
  readonly #removes: LiveRowKernels['remove']
  readonly #appendBits: AppendBits
  /** Deleted rows. */
  dead: number

  constructor(device: Device, region: Region, appendBits: AppendBits, dead: number) {
    this.#device = device
    this.region = region
    this.#removes = new LiveRowKernels(device).remove
    this.#appendBits = appendBits
    this.dead = dead
  }

  /** Makes room for so many rows in all. @throws WarpdexError `OUT_OF_DEVICE_MEMORY` */
  async reserve(rows: number): Promise<void> {
    await this.region.reserve(Math.max(0, Math.ceil(rows / WORD_ROWS) - this.region.records))
  }

  /** Rows are added behind others, all live. */
  append(recorder: Recorder, first: number, rows: number): void {
    this.region.take(Math.ceil((first + rows) / WORD_ROWS) - this.region.records)
    this.#appendBits.record(recorder, undefined, this.region.buffer, first, rows)
  }

  /** Deletes rows that are live. */
  remove(recorder: Recorder, scratch: Scratch, { places, bits, rows }: RemovedRows): void {
    const { length } = places
    const buffers = {
      live: this.region.buffer,
      places: scratch.words(length),
      removed: scratch.words(length),
    }
    this.#device.upload(buffers.places, asBytes(places), 0, recorder)
    this.#device.upload(buffers.removed, asBytes(bits), 0, recorder)
    recorder.dispatch(this.#removes.remove_rows, buffers, { count: length }, length)
    this.dead += rows
  }
}

/** Room for the bits of so many rows. @throws WarpdexError `OUT_OF_DEVICE_MEMORY` */
export function liveRegion(device: Device, rows: number): Promise<Region> {
  return Region.create(device, 'columns', 'live rows', 1, Math.ceil(rows / WORD_ROWS))
}
