import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { Runs } from '../batch/batch.js'
import { Count } from '../batch/counts.js'
import type { SortedKeys } from '../batch/sort.js'
import type { TreeShape } from '../layout.js'
import type { Locator, Ready } from '../partitions/locator.js'

/** Groups the items of a sorted batch by key, and finds each key in the tree. */
export class RunFinder {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #kernels: Kernels<'mark_heads' | 'number_runs' | 'locate_runs'>
  /** Only where trees have partitions. */
  readonly #located: Kernels<'take_located'> | undefined
  readonly #locator: Locator | undefined

  constructor(device: Device, primitives: Primitives, shape: TreeShape, locator: Locator | undefined) {
    const { conditions } = shape
    const module = 'index/write/runs'
    const entryPoints = ['mark_heads', 'number_runs', 'locate_runs'] as const
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = device.kernels(module, entryPoints, conditions)
    this.#located = locator && device.kernels(module, ['take_located'], conditions)
    this.#locator = locator
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
