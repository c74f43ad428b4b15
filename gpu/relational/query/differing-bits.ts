import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import type { DeviceWork } from './device-work.js'
import { type QueryColumn, valueWords } from './query-column.js'

/** Values that an invocation looks at. */
const ROWS_PER_INVOCATION = 32

/** What all values of a column have in common. */
export interface CommonBits {
  /** Lowest bits in which values differ; all above them are those of `common`. */
  readonly bits: number
  /** The bits that all have, and zeros in place of the others. */
  readonly common: bigint
}

/** Finds how many of a column's bits its values need (`differing-bits.wesl`): a sort is shorter for each byte that they do not. */
export class DifferingBits {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(device: Device): Promise<DifferingBits> {
    const kernel = await device.kernel({
      module: 'relational/query/differing-bits',
      entryPoint: 'find_differing_bits',
      bindings: ['read', 'write'],
      params: 3,
    })
    return new DifferingBits(kernel)
  }

  /** Looks at columns of integers; waits for the answer. There must be a row. */
  async measure(work: DeviceWork, columns: readonly QueryColumn[], rows: number): Promise<CommonBits[]> {
    const measured = columns.map((column) => {
      const words = valueWords(column.type)
      const output = work.words(2)
      work.recorder.clear(output, 0, 8)
      const groups = Math.ceil(rows / ROWS_PER_INVOCATION / GROUP_SIZE)
      const params = [rows, words, groups * GROUP_SIZE]
      work.recorder.dispatchGroups(this.#kernel, [column.values, output], params, groups)
      return { output, words, values: column.values }
    })
    const read = await work.readColumns(
      measured.flatMap(({ output, words, values }) => [
        { buffer: output, bytes: 8 },
        { buffer: values, bytes: words * 4 },
      ]),
    )
    return measured.map((_, i) => {
      const differing = wholeNumber(read[2 * i]!)
      const first = wholeNumber(read[2 * i + 1]!)
      const bits = differing === 0n ? 0 : differing.toString(2).length
      return { bits, common: (first >> BigInt(bits)) << BigInt(bits) }
    })
  }
}

function wholeNumber(bytes: Uint8Array): bigint {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
  return BigInt(words[0]!) | (BigInt(words[1] ?? 0) << 32n)
}
