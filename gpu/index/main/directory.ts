import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import { groupsFor, type Strategy, strategyFor } from '../../primitives/strategy.js'
import { type Arena, keyHeaps } from '../arena.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import { FANOUT, planDirectory } from './directory-plan.js'

/** Builds the directories of CSS-trees (`directory.wesl`; He §4.1). */
export class DirectoryBuilder {
  readonly #device: Device
  readonly #strategy: Strategy
  readonly #shape: TreeShape
  readonly #buildLevel: Kernel
  /** Only over keys of fixed width. */
  readonly #buckets: Buckets | undefined

  private constructor(
    device: Device,
    strategy: Strategy,
    shape: TreeShape,
    buildLevel: Kernel,
    buckets: Buckets | undefined,
  ) {
    this.#device = device
    this.#strategy = strategy
    this.#shape = shape
    this.#buildLevel = buildLevel
    this.#buckets = buckets
  }

  /** @param strategy the one that suits the device, unless given */
  static async create(
    device: Device,
    shape: TreeShape,
    strategy = strategyFor(device),
  ): Promise<DirectoryBuilder> {
    const { form } = shape
    const conditions = { ...shape.conditions, serial: strategy === 'serial' }
    const common = { module: 'index/main/directory', params: 8, conditions }
    const further = furtherBindings(shape, 'keys')
    const bindings = ['read', 'write', 'write'] as const
    const [buildLevel, fill, fillGaps] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'build_level', bindings: ['read', 'write'], further }),
      form === undefined ? device.kernel({ ...common, entryPoint: 'fill_buckets', bindings }) : undefined,
      form === undefined ? device.kernel({ ...common, entryPoint: 'fill_gaps', bindings }) : undefined,
    ])
    return new DirectoryBuilder(device, strategy, shape, buildLevel, fill && fillGaps && { fill, fillGaps })
  }

  /** Builds the directory of an arena's sorted part if that was put off. */
  provide(arena: Arena | undefined): void {
    if (arena?.sorted === undefined || arena.sorted.isSearchable) return
    const recorder = this.#device.record()
    this.record(recorder, arena)
    recorder.submit()
  }

  /** Builds the directory of an arena's sorted part, which is new. */
  record(recorder: Recorder, arena: Arena): void {
    const { tuples, heap, sorted } = arena
    if (sorted === undefined) return
    sorted.isSearchable = true
    const { levels, buckets } = planDirectory(this.#shape, sorted.tuples)
    const { word } = this.#shape
    const written = [tuples.buffer, sorted.directory]
    // No key of a request is looked at.
    const buffers = [...written, ...keyHeaps(arena, heap?.buffer)]
    levels.forEach(({ firstQuad, places }, i) => {
      const threads = heap === undefined ? places : places / FANOUT
      const params = [sorted.tuples, word, levels.length, i + 1, firstQuad, places, 0, 0]
      recorder.dispatch(this.#buildLevel, buffers, params, threads)
    })
    if (buckets === undefined || this.#buckets === undefined || sorted.gaps === undefined) return
    const { fill, fillGaps } = this.#buckets
    const params = [sorted.tuples, word, 0, 0, 0, 0, buckets.firstWord, buckets.bits]
    const places = sorted.tuples + 1
    const filled = [...written, sorted.gaps]
    // There is a count in it where the part is another one's successor.
    recorder.clear(sorted.gaps, 0, 4)
    if (this.#strategy === 'serial') {
      recorder.dispatchGroups(fill, filled, params, groupsFor('serial', Math.ceil(places / SERIAL_TILE)))
    } else {
      recorder.dispatch(fill, filled, params, places)
    }
    recorder.dispatchGroups(fillGaps, filled, params, GAP_GROUPS)
  }
}

interface Buckets {
  readonly fill: Kernel
  readonly fillGaps: Kernel
}

/** Tuples of an invocation on CPUs; `directory.wesl` has the same number. */
const SERIAL_TILE = 512

/** Workgroups that fill long gaps, one after the other. */
const GAP_GROUPS = 256
