import type { Device } from '../../device/device.js'
import type { Conditions } from '../../device/shaders.js'
import type { BatchWork } from '../batch/work.js'

/** Places whose minimum is kept together; `neighbours.wesl` has the same number. */
const FAN = 16

/**
 * Finds how many digits each of `count` sorted entries over keys of variable length shares with the next one of its slot, and the minima above
 * them (`digitsShared`).
 */
export type ShareDigits = (work: BatchWork, count: number) => void

export function shareDigits(device: Device, conditions: Conditions): ShareDigits {
  const kernels = device.kernels('index/delta/neighbours', ['share_digits', 'raise_minima'], conditions)
  return (work, count) => {
    work.words('digitsShared', withMinima(count))
    work.dispatch(kernels.share_digits, count, { count })
    let begin = 0
    for (let length = count; length > FAN; length = Math.ceil(length / FAN)) {
      work.dispatch(kernels.raise_minima, Math.ceil(length / FAN), { count, begin, length })
      begin += length
    }
  }
}

/** Words for a column and the minima above it. */
function withMinima(length: number): number {
  return length <= FAN ? length : length + withMinima(Math.ceil(length / FAN))
}
