import type { Device } from '../device/device.js'
import type { Kernel } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Arena } from './arena.js'
import type { TreeShape } from './layout.js'

/** Slots of a directory; `directory.wesl` derives them from its DIRECTORY_DIGITS. */
const DIRECTORY_SLOTS = 16 ** 5

/**
 * Tuples from which on a tree gets a directory on a GPU: lookups gain where its nodes leave the caches, and filling the
 * directory after each write is little beside the write. On a CPU filling it would cost more than it saves.
 */
const TUPLES_FOR_DIRECTORY = 1 << 20

/** Whether trees of a shape may have one: those over keys of fixed width, unless their keys are to go down all levels or
 * the nodes are but a CSS-tree's delta. */
export function hasDirectory({ form, full, conditions }: TreeShape): boolean {
  return form === undefined && !full && !conditions.css
}

/** Keeps the directories of large trees. */
export class DirectoryKeeper {
  readonly #device: Device
  readonly #fill: Kernel

  private constructor(device: Device, fill: Kernel) {
    this.#device = device
    this.#fill = fill
  }

  static async create(device: Device): Promise<DirectoryKeeper> {
    const fill = await device.kernel({
      module: 'prefix-tree/directory',
      entryPoint: 'fill_directory',
      bindings: ['read', 'write'],
      params: 0,
      conditions: { wide: false },
    })
    return new DirectoryKeeper(device, fill)
  }

  /**
   * Gives an arena that will hold `tuples` tuples a directory if it is worthwhile.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async provide(arena: Arena, tuples: number): Promise<void> {
    if (arena.directory !== undefined || this.#device.facts.software || tuples < TUPLES_FOR_DIRECTORY) return
    if (arena.bytes + DIRECTORY_SLOTS * 4 > this.#device.structureBytes) return
    arena.directory = await this.#device.allocate(DIRECTORY_SLOTS * 4, 'tree directory')
    const recorder = this.#device.record()
    this.recordFill(recorder, arena)
    recorder.submit()
  }

  /** Fills an arena's directory, if it has one, from its nodes. */
  recordFill(recorder: Recorder, arena: Arena): void {
    if (arena.directory === undefined) return
    recorder.dispatch(this.#fill, [arena.nodes.buffer, arena.directory], [], DIRECTORY_SLOTS)
  }
}
