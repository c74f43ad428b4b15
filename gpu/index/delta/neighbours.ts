import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { furtherBindings, type TreeShape } from '../layout.js'
import type { Entries } from './entries.js'

/** Places whose minimum is kept together; `neighbours.wesl` has the same number. */
const FAN = 16

/** Finds how many digits sorted entries over keys of variable length share with their neighbours. */
export class Neighbours {
  readonly #shareDigits: Kernel
  readonly #raiseMinima: Kernel

  private constructor(shareDigits: Kernel, raiseMinima: Kernel) {
    this.#shareDigits = shareDigits
    this.#raiseMinima = raiseMinima
  }

  static async create(device: Device, shape: TreeShape): Promise<Neighbours> {
    const common = { module: 'index/delta/neighbours', params: 3, conditions: shape.conditions }
    const [shareDigits, raiseMinima] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'share_digits',
        bindings: ['read', 'read', 'read', 'write'],
        further: furtherBindings(shape, 'keys'),
      }),
      device.kernel({ ...common, entryPoint: 'raise_minima', bindings: ['write'] }),
    ])
    return new Neighbours(shareDigits, raiseMinima)
  }

  /** The digits that each entry shares with the next one of its slot, with the minima above them. */
  record(
    recorder: Recorder,
    scratch: Scratch,
    { bound, keys, places }: Entries,
    counts: GPUBuffer,
    heaps: readonly GPUBuffer[],
  ): GPUBuffer {
    const shared = scratch.words(withMinima(bound))
    recorder.dispatch(this.#shareDigits, [keys, places, counts, shared, ...heaps], [bound, 0, 0], bound)
    let begin = 0
    for (let length = bound; length > FAN; length = Math.ceil(length / FAN)) {
      recorder.dispatch(this.#raiseMinima, [shared], [bound, begin, length], Math.ceil(length / FAN))
      begin += length
    }
    return shared
  }
}

/** Words for a column and the minima above it. */
function withMinima(length: number): number {
  return length <= FAN ? length : length + withMinima(Math.ceil(length / FAN))
}
