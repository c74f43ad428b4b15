import { WarpdexError } from '../../../protocol/errors.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import { KeyNormaliser, type NormalForm, RECORD_WORDS, type WireKeys } from '../../keys/normalise.js'
import { RecordSort } from '../../keys/sort-records.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord, LeadingSort, Primitives } from '../../primitives/primitives.js'
import type { TreeShape } from '../layout.js'
import type { Items, KeyRecords } from './items.js'

/** The keys of a batch in order. */
export interface SortedKeys {
  /** What to go on recording with: sorting keys of variable length submits what was recorded before. */
  readonly recorder: Recorder
  /** In their ordered form. */
  readonly keys: DeviceMemory
  /** Where they lie, if they have a variable length. */
  readonly heap: DeviceMemory | undefined
  /** Number in the batch of each, or its value. */
  readonly order: DeviceMemory
}

/** Brings the keys of batches into their ordered form, and in order (`sort.wesl`). */
export class BatchSort {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #kernels: Kernels<'order_keys'>
  readonly #records: { readonly normaliser: KeyNormaliser; readonly sort: RecordSort } | undefined
  /** Only for fixed keys of two words. */
  readonly #leadingSort: LeadingSort | undefined

  constructor(device: Device, primitives: Primitives, shape: TreeShape) {
    const { conditions, form, keyWords } = shape
    this.#device = device
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = device.kernels('index/batch/sort', ['order_keys'], conditions)
    this.#records = form && recordSort(device, primitives, form)
    this.#leadingSort = form === undefined && keyWords === 2 ? primitives.leadingSort() : undefined
  }

  /**
   * Sorts the keys of a batch, stably.
   * @param unsettled is added to where the leading bits of keys do not do it; they are in no order then
   * @param values what goes with keys of fixed width, in place of the numbers of the items
   */
  async sort(
    recorder: Recorder,
    scratch: Scratch,
    items: Items,
    unsettled: DeviceWord,
    values?: DeviceMemory,
  ): Promise<SortedKeys> {
    const { keys: given, count, isSorted, leading } = items
    if (!('fixed' in given)) return this.#sortRecords(recorder, scratch, given, items)
    const { keyWords, isUnsigned } = this.#shape
    const keys = isUnsigned ? given.fixed : this.#ordered(recorder, scratch, given.fixed, count)
    const heap = undefined
    if (isSorted) return { recorder, keys, heap, order: values ?? this.#positions(recorder, scratch, count) }
    const sorted =
      this.#leadingSort === undefined || leading === undefined
        ? this.#primitives.sort(recorder, scratch, keys, values, count, keyWords)
        : this.#leadingSort.record(recorder, scratch, keys, values, count, leading, unsettled)
    return { recorder, keys: sorted.keys, heap, order: sorted.values }
  }

  async #sortRecords(
    recorder: Recorder,
    scratch: Scratch,
    given: WireKeys | KeyRecords,
    { count, isSorted }: Items,
  ): Promise<SortedKeys> {
    if (this.#records === undefined) throw new WarpdexError('INTERNAL', 'the batch has keys of another kind')
    const { normaliser, sort } = this.#records
    const { heap, records } = 'heap' in given ? given : normaliser.record(recorder, scratch, given)
    if (isSorted) {
      const keys = this.#ordered(recorder, scratch, records, count)
      return { recorder, keys, heap, order: this.#positions(recorder, scratch, count) }
    }
    const order = await sort.sort(recorder, scratch, { heap, records }, count)
    const sorted = scratch.words(count * RECORD_WORDS)
    const next = this.#device.record()
    this.#primitives.gather(next, records, order, sorted, count, RECORD_WORDS)
    return { recorder: next, keys: this.#ordered(next, scratch, sorted, count), heap, order }
  }

  #ordered(recorder: Recorder, scratch: Scratch, wireKeys: DeviceMemory, count: number): DeviceMemory {
    const { keyWords, word } = this.#shape
    const ordered = scratch.words(count * keyWords)
    recorder.dispatch(this.#kernels.order_keys, { wireKeys, ordered }, { count, shape: word }, count)
    return ordered
  }

  #positions(recorder: Recorder, scratch: Scratch, count: number): DeviceMemory {
    const positions = scratch.words(count)
    this.#primitives.iota(recorder, positions, count)
    return positions
  }
}

function recordSort(device: Device, primitives: Primitives, form: NormalForm) {
  const normaliser = new KeyNormaliser(device, primitives, form)
  return { normaliser, sort: new RecordSort(device, primitives) }
}
