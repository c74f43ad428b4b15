import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { LeadingSort, Primitives } from '../../primitives/primitives.js'
import { type Arena, keyHeaps, searchBuffers } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { Locator, Ready } from '../partitions/locator.js'
import { Count } from './counts.js'
import type { Items } from './items.js'
import { RecordSorter } from './record-sorter.js'

/** A batch grouped by key. Items are in key order, those of one key in the order of the batch: a run. */
export interface Runs {
  /** Ordered keys, sorted. */
  readonly keys: GPUBuffer
  /** Where they lie, if they have a variable length. */
  readonly heap: GPUBuffer | undefined
  /** Number in the batch of each sorted item. */
  readonly order: GPUBuffer
  /** Run of each sorted item. */
  readonly runsOf: GPUBuffer
  /** First sorted item of each run, and the number of items after the last. */
  readonly starts: GPUBuffer
  /** Slot and depth at which each run's key leaves the tree. */
  readonly places: GPUBuffer
  /** Tuple of each run's key, if it is in the tree. */
  readonly residents: GPUBuffer
}

/** The keys of a batch in order, and what to go on recording with. */
export interface SortedKeys extends Pick<Runs, 'keys' | 'heap' | 'order'> {
  readonly recorder: Recorder
}

type Kernels = Readonly<Record<'orderKeys' | 'markHeads' | 'numberRuns' | 'locateRuns', Kernel>> & {
  /** Only where trees have partitions. */
  readonly takeLocated: Kernel | undefined
}

/** Sorts a batch and finds each of its keys in the tree. */
export class RunFinder {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #kernels: Kernels
  readonly #sorter: RecordSorter | undefined
  /** Only for keys of two words. */
  readonly #leadingSort: LeadingSort | undefined
  readonly #locator: Locator | undefined

  private constructor(
    primitives: Primitives,
    shape: TreeShape,
    kernels: Kernels,
    sorter: RecordSorter | undefined,
    leadingSort: LeadingSort | undefined,
    locator: Locator | undefined,
  ) {
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = kernels
    this.#sorter = sorter
    this.#leadingSort = leadingSort
    this.#locator = locator
  }

  static async create(
    device: Device,
    primitives: Primitives,
    shape: TreeShape,
    locator: Locator | undefined,
  ): Promise<RunFinder> {
    const { conditions } = shape
    const common = { module: 'index/write/runs', params: 2, conditions }
    const further = furtherBindings(shape, 'keys')
    const [orderKeys, markHeads, numberRuns, locateRuns, sorter, leadingSort, takeLocated] =
      await Promise.all([
        device.kernel({ ...common, entryPoint: 'order_keys', bindings: ['read', 'write'] }),
        device.kernel({ ...common, entryPoint: 'mark_heads', bindings: ['read', 'write'], further }),
        device.kernel({
          ...common,
          entryPoint: 'number_runs',
          bindings: ['read', 'write', 'write'],
          further,
        }),
        device.kernel({
          ...common,
          entryPoint: 'locate_runs',
          bindings: ['read', 'read', 'read', 'read', 'read', 'read', 'write', 'write'],
          further: furtherBindings(shape, 'search'),
        }),
        shape.form === undefined ? undefined : RecordSorter.create(device, primitives, shape.form),
        shape.form === undefined && shape.keyWords === 2 ? primitives.leadingSort() : undefined,
        locator &&
          device.kernel({
            ...common,
            entryPoint: 'take_located',
            firstBinding: 3,
            bindings: ['read', 'read', 'read', 'write', 'write', 'read', 'read'],
            further,
          }),
      ])
    const kernels = { orderKeys, markHeads, numberRuns, locateRuns, takeLocated }
    return new RunFinder(primitives, shape, kernels, sorter, leadingSort, locator)
  }

  /**
   * Sorts the keys of a batch, stably, unless their leading bits do not do it: `counts` says so. May submit what is recorded; the
   * recorder to go on with comes back.
   */
  async sort(recorder: Recorder, scratch: Scratch, items: Items, counts: GPUBuffer): Promise<SortedKeys> {
    const { keyWords, word, isUnsigned } = this.#shape
    const { orderKeys } = this.#kernels
    const { keys, count } = items
    if (!('fixed' in keys)) {
      if (this.#sorter === undefined) throw new WarpdexError('INTERNAL', 'the batch has keys of another kind')
      const sorted =
        'heap' in keys
          ? await this.#sorter.sortRecords(recorder, scratch, keys.heap, keys.records, count)
          : await this.#sorter.sort(recorder, scratch, keys)
      const ordered = scratch.words(count * keyWords)
      sorted.recorder.dispatch(orderKeys, [sorted.records, ordered], [count, word], count)
      return { ...sorted, keys: ordered }
    }
    const ordered = isUnsigned ? keys.fixed : scratch.words(count * keyWords)
    if (!isUnsigned) recorder.dispatch(orderKeys, [keys.fixed, ordered], [count, word], count)
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
    const { word } = this.#shape
    const { markHeads, numberRuns, locateRuns, takeLocated } = this.#kernels
    const heaps = keyHeaps(arena, heap)
    const runsOf = scratch.words(count)
    const starts = scratch.words(count + 1)
    recorder.dispatch(markHeads, [keys, runsOf, ...heaps], [count, word], count)
    this.#primitives.scan(recorder, scratch, runsOf, runsOf, count, { buffer: counts, index: Count.runs })
    recorder.dispatch(numberRuns, [keys, runsOf, starts, ...heaps], [count, word], count)

    const places = scratch.words(2 * count)
    const residents = scratch.words(count)
    const runs = { keys, heap, order, runsOf, starts, places, residents }
    if (ready !== undefined && takeLocated !== undefined && this.#locator !== undefined) {
      const located = this.#locator.record(recorder, scratch, arena, ready, { keys, heap }, count, true)
      const outputs = [starts, counts, places, residents]
      const buffers = [located.places, ...outputs, keys, located.residents, ...heaps]
      recorder.dispatch(takeLocated, buffers, [count, word], count)
      return runs
    }
    const located = [keys, starts, counts, places, residents]
    const buffers = [...arena.buffers, ...located, ...searchBuffers(arena, heap)]
    recorder.dispatch(locateRuns, buffers, [count, word], count)
    return runs
  }
}
