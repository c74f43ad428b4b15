import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'

/**
 * Digits of the directory of a tree of so many tuples on a GPU, 0 for none: lookups gain where the nodes that it stands for leave
 * the caches, and filling it after each write must be little beside the write. On a CPU it would cost more than it saves.
 */
function directoryDigits(tuples: number): number {
  if (tuples < 2 ** 20) return 0
  return tuples < 2 ** 24 ? 5 : 6
}

/** Whether trees of a shape may have one: those over keys of fixed width, unless their keys are to go down all levels or
 * the nodes are but a CSS-tree's delta. */
export function hasDirectory({ form, full, conditions }: TreeShape): boolean {
  return form === undefined && !full && !conditions.css
}

/** Keeps the directories of large trees. */
export class DirectoryKeeper {
  readonly #device: Device
  readonly #kernels: Kernels<'fill_directory'>

  constructor(device: Device) {
    this.#device = device
    this.#kernels = device.kernels('index/delta/directory', ['fill_directory'], { wide: false })
  }

  /**
   * Gives an arena that will hold `tuples` tuples a directory, or one of more digits, if that is worthwhile.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async provide(arena: Arena, tuples: number): Promise<void> {
    const digits = this.#device.facts.software ? 0 : directoryDigits(tuples)
    if (digits <= (arena.directory?.digits ?? 0)) return
    const bytes = 4 * 16 ** digits
    if (arena.bytes + bytes > this.#device.structureBytes) return
    const buffer = await this.#device.allocate(bytes, 'tree directory')
    arena.directory?.buffer.destroy()
    arena.directory = { digits, buffer }
    const recorder = this.#device.record()
    this.recordFill(recorder, arena)
    recorder.submit()
  }

  /** Fills an arena's directory, if it has one, from its nodes. */
  recordFill(recorder: Recorder, arena: Arena): void {
    if (arena.directory === undefined) return
    const { digits } = arena.directory
    recorder.dispatch(this.#kernels.fill_directory, arena.bindings, { digits }, 16 ** digits / 4)
  }
}
