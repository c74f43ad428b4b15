import type { Device, Kernels } from '../../device/device.js'
import type { Conditions } from '../../device/shaders.js'
import type { BatchWork } from '../batch/work.js'

/** Places whose minimum is kept together; `neighbours.wesl` has the same number. */
const FAN = 16

/** Finds how many digits sorted entries over keys of variable length share with their neighbours. */
export class Neighbours {
  readonly #kernels: Kernels<'share_digits' | 'raise_minima'>

  constructor(device: Device, conditions: Conditions) {
    this.#kernels = device.kernels('index/delta/neighbours', ['share_digits', 'raise_minima'], conditions)
  }

  /** The digits that each of `count` entries shares with the next one of its slot, with the minima above them (`digitsShared`). */
  record(work: BatchWork, count: number): void {
    work.words('digitsShared', withMinima(count))
    work.dispatch(this.#kernels.share_digits, count, { count })
    let begin = 0
    for (let length = count; length > FAN; length = Math.ceil(length / FAN)) {
      work.dispatch(this.#kernels.raise_minima, Math.ceil(length / FAN), { count, begin, length })
      begin += length
    }
  }
}

/** Words for a column and the minima above it. */
function withMinima(length: number): number {
  return length <= FAN ? length : length + withMinima(Math.ceil(length / FAN))
}
