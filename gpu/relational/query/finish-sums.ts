import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { DeviceWork } from './device-work.js'

/** What a sum that is not finished is: an integer of 96 bits in four words, the lowest one first, or a pair of floats. */
export type LongSum = 'unsigned' | 'signed' | 'float'

/** As in `finish-sums.wesl`. */
const KINDS: Readonly<Record<LongSum, number>> = { unsigned: 0, signed: 1, float: 2 }

/** Finishes the sums of groups (`finish-sums.wesl`). */
export class FinishSums {
  readonly #narrow: Kernel
  readonly #average: Kernel

  private constructor(narrow: Kernel, average: Kernel) {
    this.#narrow = narrow
    this.#average = average
  }

  static async create(device: Device): Promise<FinishSums> {
    const common = { module: 'relational/query/finish-sums', params: 3 }
    const [narrow, average] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'narrow',
        bindings: ['read'],
        further: [
          [2, 'write'],
          [3, 'write'],
        ],
      }),
      device.kernel({ ...common, entryPoint: 'average', bindings: ['read', 'read', 'write'] }),
    ])
    return new FinishSums(narrow, average)
  }

  /**
   * Sums of integers as two words.
   * @param fault a bit of `DeviceWork.faults`, set where one does not fit them
   */
  narrow(
    work: DeviceWork,
    sums: GPUBuffer,
    count: number,
    kind: Exclude<LongSum, 'float'>,
    fault: number,
  ): GPUBuffer {
    work.mayHaveFault = true
    const output = work.words(2 * count)
    work.recorder.dispatch(this.#narrow, [sums, output, work.faults], [count, KINDS[kind], fault], count)
    return output
  }

  /**
   * Sums divided by numbers of values: the nearest f32, or 0 of no values.
   * @param counts a u32 for each sum
   */
  average(work: DeviceWork, sums: GPUBuffer, counts: GPUBuffer, count: number, kind: LongSum): GPUBuffer {
    const output = work.words(count)
    work.recorder.dispatch(this.#average, [sums, counts, output], [count, KINDS[kind], 0], count)
    return output
  }
}
