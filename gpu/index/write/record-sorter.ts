import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import { KeyNormaliser, type NormalForm, RECORD_WORDS, type WireKeys } from '../../keys/normalise.js'
import { RecordSort } from '../../keys/sort-records.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'

/** A batch's keys in the order of their bytes. */
export interface SortedRecords {
  /** What to go on recording with: sorting submits what was recorded before. */
  readonly recorder: Recorder
  readonly records: GPUBuffer
  readonly heap: GPUBuffer
  /** Number in the batch of each. */
  readonly order: GPUBuffer
}

/** Brings keys of variable length into their normal form and sorts them. */
export class RecordSorter {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #normaliser: KeyNormaliser
  readonly #sort: RecordSort

  constructor(device: Device, primitives: Primitives, form: NormalForm) {
    this.#device = device
    this.#primitives = primitives
    this.#normaliser = new KeyNormaliser(device, primitives, form)
    this.#sort = new RecordSort(device, primitives)
  }

  async sort(recorder: Recorder, scratch: Scratch, keys: WireKeys): Promise<SortedRecords> {
    const { heap, records } = this.#normaliser.record(recorder, scratch, keys)
    return this.sortRecords(recorder, scratch, heap, records, keys.count)
  }

  async sortRecords(
    recorder: Recorder,
    scratch: Scratch,
    heap: GPUBuffer,
    records: GPUBuffer,
    count: number,
  ): Promise<SortedRecords> {
    const order = await this.#sort.sort(recorder, scratch, { heap, records }, count)
    const sorted = scratch.words(count * RECORD_WORDS)
    const next = this.#device.record()
    this.#primitives.gather(next, records, order, sorted, count, RECORD_WORDS)
    return { recorder: next, records: sorted, heap, order }
  }
}
