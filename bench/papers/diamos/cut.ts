import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import { PAPER_KERNELS } from '../kernels.js'

/** Tuples in the order of their keys, of a word each. */
export interface SortedKeys {
  readonly keys: DeviceMemory
  readonly count: number
}

/** The same with a word of payload each. */
export interface SortedTuples extends SortedKeys {
  readonly payloads: DeviceMemory
}

/** Two relations cut into pairs of ranges. */
export interface Tiles {
  readonly tiles: number
  readonly cuts: DeviceMemory
}

/** Tuples of both relations that are a tile; as in `cta-join.wesl`. */
const TILE = 2048

/** Cuts pairs of relations into equal tiles (`cut.wesl`). */
export class Cut {
  readonly #kernels: Kernels<'cut'>

  constructor(device: Device) {
    this.#kernels = device.kernels('diamos/cut', ['cut'], {}, PAPER_KERNELS)
  }

  record(recorder: Recorder, scratch: Scratch, first: SortedKeys, second: SortedKeys): Tiles {
    const tiles = Math.ceil((first.count + second.count) / TILE)
    const cuts = scratch.words(2 * (tiles + 1))
    const buffers = { firstKeys: first.keys, secondKeys: second.keys, cuts }
    const params = { firstCount: first.count, secondCount: second.count, tiles }
    recorder.dispatch(this.#kernels.cut, buffers, params, tiles + 1)
    return { tiles, cuts }
  }
}
