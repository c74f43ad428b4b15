import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'

/** Words that look random, made on the device (`random-words.wesl`): what selections are measured over. */
export class RandomWords {
  readonly #kernels: Kernels<'fill'>

  constructor(device: Device) {
    this.#kernels = device.kernels('relational/selection/random-words', ['fill'])
  }

  /**
   * Fills a buffer with the words of the numbers from `first` on, modulo 2^32. What lies behind them within 16 bytes is overwritten too.
   * @param mask bits that the words have
   */
  record(recorder: Recorder, words: DeviceMemory, count: number, first: number, mask = 0xffffffff): void {
    recorder.dispatch(
      this.#kernels.fill,
      { words },
      { count, first: first >>> 0, mask },
      Math.ceil(count / 4),
    )
  }
}
