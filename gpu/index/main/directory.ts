import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { groupsFor, kernelsFor, type Strategy, strategyFor } from '../../primitives/strategy.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { FANOUT, planDirectory } from './directory-plan.js'
import type { SortedPart } from './sorted-part.js'

/** Builds the directories of CSS-trees (`directory.wesl`; He §4.1). */
export class DirectoryBuilder {
  readonly #device: Device
  readonly #strategy: Strategy
  readonly #shape: TreeShape
  readonly #kernels: Kernels<'build_level'>
  /** Only over keys of fixed width. */
  readonly #buckets: Kernels<'fill_buckets' | 'fill_gaps'> | undefined

  /** @param strategy the one that suits the device, unless given */
  constructor(device: Device, shape: TreeShape, strategy = strategyFor(device)) {
    const module = 'index/main/directory'
    const { conditions } = shape
    this.#device = device
    this.#strategy = strategy
    this.#shape = shape
    this.#kernels = device.kernels(module, ['build_level'], conditions)
    if (shape.form === undefined) {
      this.#buckets = {
        ...kernelsFor(device, strategy, module, ['fill_buckets'], conditions),
        ...device.kernels(module, ['fill_gaps'], conditions),
      }
    }
  }

  /**
   * Builds the directory of an arena's sorted part, unless it is there.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  provide(arena: Arena | undefined): void {
    const sorted = arena?.sorted
    if (arena === undefined || sorted === undefined || sorted.isSearchable) return
    const scratch = this.#device.scratch()
    try {
      const recorder = this.#device.record()
      this.#record(recorder, scratch, arena, sorted)
      recorder.submit()
      sorted.isSearchable = true
    } finally {
      scratch.release()
    }
  }

  #record(recorder: Recorder, scratch: Scratch, { bindings, heap }: Arena, sorted: SortedPart): void {
    const { levels, buckets } = planDirectory(this.#shape, sorted.tuples)
    const gaps = buckets && scratch.words(buckets.gapWords)
    const common = { tuples: sorted.tuples, shape: this.#shape.word }
    const buffers = {
      ...bindings,
      newDirectory: sorted.directory,
      gaps,
      // No key of a request is looked at.
      queryHeap: heap?.buffer,
    }
    levels.forEach(({ firstQuad, places }, i) => {
      const threads = heap === undefined ? places : places / FANOUT
      const params = { ...common, levels: levels.length, level: i + 1, firstQuad, places }
      recorder.dispatch(this.#kernels.build_level, buffers, params, threads)
    })
    if (buckets === undefined || this.#buckets === undefined || gaps === undefined) return
    const { fill_buckets: fill, fill_gaps: fillGaps } = this.#buckets
    const params = { ...common, buckets: buckets.firstWord, bucketBits: buckets.bits }
    const places = sorted.tuples + 1
    recorder.clear(gaps, 0, 4)
    if (this.#strategy === 'serial') {
      recorder.dispatchGroups(fill, buffers, params, groupsFor('serial', Math.ceil(places / SERIAL_TILE)))
    } else {
      recorder.dispatch(fill, buffers, params, places)
    }
    recorder.dispatchGroups(fillGaps, buffers, params, GAP_GROUPS)
  }
}

/** Tuples of an invocation on CPUs; `directory.wesl` has the same number. */
const SERIAL_TILE = 512

/** Workgroups that fill long gaps, one after the other. */
const GAP_GROUPS = 256
