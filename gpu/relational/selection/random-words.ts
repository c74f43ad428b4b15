import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'

/** Words that look random, made on the device (`random-words.wesl`): what selections are measured over. */
export class RandomWords {
  readonly #fill: Kernel

  private constructor(fill: Kernel) {
    this.#fill = fill
  }

  static async create(device: Device): Promise<RandomWords> {
    const fill = await device.kernel({
      module: 'relational/selection/random-words',
      entryPoint: 'fill',
      bindings: ['write'],
      params: 3,
    })
    return new RandomWords(fill)
  }

  /**
   * Fills a buffer with the words of the numbers from `first` on, modulo 2^32. What lies behind them within 16 bytes is overwritten too.
   * @param mask bits that the words have
   */
  record(recorder: Recorder, buffer: GPUBuffer, count: number, first: number, mask = 0xffffffff): void {
    recorder.dispatch(this.#fill, [buffer], [count, first >>> 0, mask], Math.ceil(count / 4))
  }
}
