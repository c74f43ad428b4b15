import type { Device } from '../../gpu/device/device.js'
import type { Primitives } from '../../gpu/primitives/primitives.js'
import { kernelTime } from '../speculation/kernel-time.js'
import type { Effort } from '../speculation/subject.js'

/** What copying reaches on a device, by the number of bytes that it moves. */
export class CopyRates {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #effort: Effort
  readonly #rates = new Map<number, number>()

  constructor(device: Device, primitives: Primitives, effort: Effort) {
    this.#device = device
    this.#primitives = primitives
    this.#effort = effort
  }

  /** Gigabytes a second of a copy that reads and writes `bytes` bytes in all, by the device's own copy or by a kernel. */
  async rate(bytes: number): Promise<number> {
    // A column of each size that is an eighth larger than the one before stands for those in between.
    const step = Math.round(Math.log(bytes) / Math.log(1.125))
    const words = 4 * Math.ceil(1.125 ** step / 8 / 4)
    let rate = this.#rates.get(words)
    if (rate === undefined) {
      rate = await this.#measure(words)
      this.#rates.set(words, rate)
    }
    return rate
  }

  async #measure(words: number): Promise<number> {
    const scratch = this.#device.scratch()
    const [from, to] = [scratch.words(words), scratch.words(words)]
    const same = { multiplier: 1, addend: 0 }
    const times = [
      await kernelTime(this.#device, this.#effort, (recorder) => recorder.copy(from, 0, to, 0, words * 4)),
      await kernelTime(this.#device, this.#effort, (recorder) =>
        this.#primitives.map(recorder, from, to, words, same),
      ),
    ]
    scratch.release()
    return (words * 8) / Math.min(...times.map(({ microseconds }) => microseconds)) / 1e3
  }
}
