import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import { type Arena, keyHeaps } from '../prefix-tree/arena.js'
import { furtherBindings, type TreeShape } from '../prefix-tree/layout.js'
import { fanoutOf, levelsOver } from './directory-levels.js'

/** Builds the directories of CSS-trees (`directory.wesl`; He §4.1). */
export class DirectoryBuilder {
  readonly #shape: TreeShape
  readonly #buildLevel: Kernel

  private constructor(shape: TreeShape, buildLevel: Kernel) {
    this.#shape = shape
    this.#buildLevel = buildLevel
  }

  static async create(device: Device, shape: TreeShape): Promise<DirectoryBuilder> {
    const buildLevel = await device.kernel({
      module: 'css-tree/directory',
      entryPoint: 'build_level',
      bindings: ['read', 'write'],
      further: furtherBindings(shape, 'keys'),
      params: 6,
      conditions: shape.conditions,
    })
    return new DirectoryBuilder(shape, buildLevel)
  }

  /** Builds the directory of an arena's sorted part, which is set. */
  record(recorder: Recorder, arena: Arena): void {
    const { tuples, heap, sorted } = arena
    if (sorted === undefined) return
    const { levels } = levelsOver(this.#shape, sorted.tuples)
    // No key of a request is looked at.
    const buffers = [tuples.buffer, sorted.directory, ...keyHeaps(arena, heap?.buffer)]
    levels.forEach(({ firstQuad, places }, i) => {
      const threads = heap === undefined ? places : places / fanoutOf(this.#shape)
      const params = [sorted.tuples, this.#shape.word, levels.length, i + 1, firstQuad, places]
      recorder.dispatch(this.#buildLevel, buffers, params, threads)
    })
  }
}
