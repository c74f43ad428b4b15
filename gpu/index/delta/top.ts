import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'

/**
 * Digits of the table of the top of a tree of so many tuples on a GPU, 0 for none: lookups gain where the nodes that it stands for leave
 * the caches, and filling it after each write must be little beside the write. On a CPU it would cost more than it saves.
 */
function topDigits(tuples: number): number {
  if (tuples < 2 ** 20) return 0
  return tuples < 2 ** 24 ? 5 : 6
}

/** Whether trees of a shape may have one: those over keys of fixed width, unless their keys are to go down all levels or
 * the nodes are but a CSS-tree's delta. */
export function hasTop({ form, full, conditions }: TreeShape): boolean {
  return form === undefined && !full && !conditions.css
}

/** Keeps the tables of the first digits in which lookups of large trees begin (`top.wesl`). */
export class TopKeeper {
  readonly #device: Device
  readonly #kernels: Kernels<'fill_top'>

  constructor(device: Device) {
    this.#device = device
    this.#kernels = device.kernels('index/delta/top', ['fill_top'], { wide: false })
  }

  /**
   * Gives an arena that will hold `tuples` tuples a table, or one of more digits, if that is worthwhile.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async provide(arena: Arena, tuples: number): Promise<void> {
    const digits = this.#device.facts.software ? 0 : topDigits(tuples)
    if (digits <= (arena.top?.digits ?? 0)) return
    const bytes = 4 * 16 ** digits
    if (arena.bytes + bytes > this.#device.structureBytes) return
    const buffer = this.#device.allocatePages('derived', bytes, 'tree directory')
    arena.top?.buffer.destroy()
    arena.top = { digits, buffer }
    const recorder = this.#device.record()
    this.recordFill(recorder, arena)
    recorder.submit()
  }

  /** Fills an arena's table, if it has one, from its nodes. */
  recordFill(recorder: Recorder, arena: Arena): void {
    if (arena.top === undefined) return
    const { digits } = arena.top
    recorder.dispatch(this.#kernels.fill_top, arena.bindings, { digits }, 16 ** digits / 4)
  }
}
