import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import { type Arena, keyHeaps } from '../prefix-tree/arena.js'
import { furtherBindings, type TreeShape } from '../prefix-tree/layout.js'
import { FANOUT, planDirectory } from './directory-plan.js'

/** Builds the directories of CSS-trees (`directory.wesl`; He §4.1). */
export class DirectoryBuilder {
  readonly #shape: TreeShape
  readonly #buildLevel: Kernel
  /** Only over keys of fixed width. */
  readonly #fillBuckets: Kernel | undefined

  private constructor(shape: TreeShape, buildLevel: Kernel, fillBuckets: Kernel | undefined) {
    this.#shape = shape
    this.#buildLevel = buildLevel
    this.#fillBuckets = fillBuckets
  }

  static async create(device: Device, shape: TreeShape): Promise<DirectoryBuilder> {
    const common = {
      module: 'css-tree/directory',
      bindings: ['read', 'write'] as const,
      params: 8,
      conditions: shape.conditions,
    }
    const [buildLevel, fillBuckets] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'build_level', further: furtherBindings(shape, 'keys') }),
      shape.form === undefined ? device.kernel({ ...common, entryPoint: 'fill_buckets' }) : undefined,
    ])
    return new DirectoryBuilder(shape, buildLevel, fillBuckets)
  }

  /** Builds the directory of an arena's sorted part, which is set. */
  record(recorder: Recorder, arena: Arena): void {
    const { tuples, heap, sorted } = arena
    if (sorted === undefined) return
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
    if (buckets === undefined || this.#fillBuckets === undefined) return
    const { firstQuad, places } = levels[0]!
    const { firstWord, bits } = buckets
    const params = [sorted.tuples, word, levels.length, 1, firstQuad, places, firstWord, bits]
    recorder.dispatch(this.#fillBuckets, written, params, 2 ** bits + 1)
  }
}
