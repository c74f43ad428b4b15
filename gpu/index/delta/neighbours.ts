import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Conditions } from '../../device/shaders.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyHeaps } from '../arena.js'
import type { Entries } from './entries.js'

/** Places whose minimum is kept together; `neighbours.wesl` has the same number. */
const FAN = 16

/** Finds how many digits sorted entries over keys of variable length share with their neighbours. */
export class Neighbours {
  readonly #kernels: Kernels<'share_digits' | 'raise_minima'>

  constructor(device: Device, conditions: Conditions) {
    this.#kernels = device.kernels('index/delta/neighbours', ['share_digits', 'raise_minima'], conditions)
  }

  /** The digits that each entry shares with the next one of its slot, with the minima above them. */
  record(
    recorder: Recorder,
    scratch: Scratch,
    { bound, keys, places }: Entries,
    counts: GPUBuffer,
    heaps: KeyHeaps,
  ): GPUBuffer {
    const shared = scratch.words(withMinima(bound))
    const buffers = { keys, places, counts, sharedOut: shared, ...heaps }
    recorder.dispatch(this.#kernels.share_digits, buffers, { count: bound }, bound)
    let begin = 0
    for (let length = bound; length > FAN; length = Math.ceil(length / FAN)) {
      const params = { count: bound, begin, length }
      recorder.dispatch(this.#kernels.raise_minima, { minima: shared }, params, Math.ceil(length / FAN))
      begin += length
    }
    return shared
  }
}

/** Words for a column and the minima above it. */
function withMinima(length: number): number {
  return length <= FAN ? length : length + withMinima(Math.ceil(length / FAN))
}
