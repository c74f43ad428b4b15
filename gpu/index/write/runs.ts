import { WarpdexError } from '../../../protocol/errors.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { LeadingSort, Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { Runs } from '../batch/batch.js'
import { Count } from '../batch/counts.js'
import type { Items } from '../batch/items.js'
import type { TreeShape } from '../layout.js'
import type { Locator, Ready } from '../partitions/locator.js'
import { RecordSorter } from './record-sorter.js'

/** The keys of a batch in order, and what to go on recording with. */
export interface SortedKeys extends Pick<Runs, 'keys' | 'heap' | 'order'> {
  readonly recorder: Recorder
}

/** Sorts a batch and finds each of its keys in the tree. */
export class RunFinder {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #kernels: Kernels<'order_keys' | 'mark_heads' | 'number_runs' | 'locate_runs'>
  /** Only where trees have partitions. */
  readonly #located: Kernels<'take_located'> | undefined
  readonly #sorter: RecordSorter | undefined
  /** Only for keys of two words. */
  readonly #leadingSort: LeadingSort | undefined
  readonly #locator: Locator | undefined

  constructor(device: Device, primitives: Primitives, shape: TreeShape, locator: Locator | undefined) {
    const { conditions, form, keyWords } = shape
    const module = 'index/write/runs'
    const entryPoints = ['order_keys', 'mark_heads', 'number_runs', 'locate_runs'] as const
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = device.kernels(module, entryPoints, conditions)
    this.#located = locator && device.kernels(module, ['take_located'], conditions)
    this.#sorter = form && new RecordSorter(device, primitives, form)
    this.#leadingSort = form === undefined && keyWords === 2 ? primitives.leadingSort() : undefined
    this.#locator = locator
  }

  /**
   * Sorts the keys of a batch, stably, unless their leading bits do not do it: `counts` says so. May submit what is recorded; the
   * recorder to go on with comes back.
   */
  async sort(recorder: Recorder, scratch: Scratch, items: Items, counts: GPUBuffer): Promise<SortedKeys> {
    const { keyWords, word, isUnsigned } = this.#shape
    const { order_keys: orderKeys } = this.#kernels
    const { keys, count } = items
    if (!('fixed' in keys)) {
      if (this.#sorter === undefined) throw new WarpdexError('INTERNAL', 'the batch has keys of another kind')
      const sorted =
        'heap' in keys
          ? await this.#sorter.sortRecords(recorder, scratch, keys.heap, keys.records, count)
          : await this.#sorter.sort(recorder, scratch, keys)
      const ordered = scratch.words(count * keyWords)
      const buffers = { wireKeys: sorted.records, ordered }
      sorted.recorder.dispatch(orderKeys, buffers, { count, shape: word }, count)
      return { ...sorted, keys: ordered }
    }
    const ordered = isUnsigned ? keys.fixed : scratch.words(count * keyWords)
    const buffers = { wireKeys: keys.fixed, ordered }
    if (!isUnsigned) recorder.dispatch(orderKeys, buffers, { count, shape: word }, count)
    const unsettled = { buffer: counts, index: Count.unsettled }
    const sorted =
      this.#leadingSort === undefined || items.leading === undefined
        ? this.#primitives.sort(recorder, scratch, ordered, undefined, count, keyWords)
        : this.#leadingSort.record(recorder, scratch, ordered, undefined, count, items.leading, unsettled)
    return { recorder, keys: sorted.keys, order: sorted.values, heap: undefined }
  }

  /** @param ready how to find the runs' keys; one after the other down from the root without it */
  record(
    recorder: Recorder,
    scratch: Scratch,
    arena: Arena,
    { keys, order, heap }: SortedKeys,
    count: number,
    counts: GPUBuffer,
    ready: Ready | undefined,
  ): Runs {
    const kernels = this.#kernels
    const params = { count, shape: this.#shape.word }
    const tree = { ...arena.bindings, queryHeap: heap }
    const runsOf = scratch.words(count)
    const starts = scratch.words(count + 1)
    const numbered = { ...tree, keys, runsOf, runStarts: starts }
    recorder.dispatch(kernels.mark_heads, numbered, params, count)
    this.#primitives.scan(recorder, scratch, runsOf, runsOf, count, { buffer: counts, index: Count.runs })
    recorder.dispatch(kernels.number_runs, numbered, params, count)

    const places = scratch.words(2 * count)
    const residents = scratch.words(count)
    const runs = { keys, heap, order, runsOf, starts, places, residents }
    const found = { ...tree, starts, counts, places, residents }
    if (ready !== undefined && this.#located !== undefined && this.#locator !== undefined) {
      const located = this.#locator.record(recorder, scratch, arena, ready, { keys, heap }, count, true)
      const items = { locatedKeys: keys, itemPlaces: located.places, itemTuples: located.residents }
      recorder.dispatch(this.#located.take_located, { ...found, ...items }, params, count)
    } else {
      recorder.dispatch(kernels.locate_runs, { ...found, sortedKeys: keys }, params, count)
    }
    return runs
  }
}
