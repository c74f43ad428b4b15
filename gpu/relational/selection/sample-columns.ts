import type { Device } from '../../device/device.js'
import { dictionaryOf } from '../query/dictionaries.js'
import type { QueryColumn } from '../query/query-column.js'
import type { CalibrationSize } from './calibrate.js'
import { RandomWords } from './random-words.js'

/** Different strings of the column of strings, and the bytes that each has. */
export const SAMPLE_STRINGS = 2 ** 12
export const SAMPLE_STRING_BYTES = 16
/** Bits of the values of the column of few values. */
export const FEW_VALUE_BITS = 12

/** Columns of uniformly random values on the device, none correlated with another. */
export class SampleColumns {
  readonly words: readonly QueryColumn[]
  readonly wide: readonly QueryColumn[]
  /** Values of `FEW_VALUE_BITS` bits. */
  readonly few: QueryColumn
  readonly strings: QueryColumn
  readonly #buffers: readonly GPUBuffer[]

  private constructor(buffers: readonly GPUBuffer[], size: CalibrationSize) {
    const column = (type: 'u32' | 'u64', i: number): QueryColumn => ({
      type,
      values: buffers[i]!,
      validity: undefined,
      dictionary: undefined,
    })
    this.words = Array.from({ length: size.words }, (_, i) => column('u32', i))
    this.wide = Array.from({ length: size.wide }, (_, i) => column('u64', size.words + i))
    this.few = column('u32', size.words + size.wide)
    this.strings = {
      ...column('u32', size.words + size.wide + 1),
      type: 'string',
      dictionary: dictionaryOf(sampleStrings()),
    }
    this.#buffers = buffers
  }

  static async create(device: Device, size: CalibrationSize): Promise<SampleColumns> {
    const random = await RandomWords.create(device)
    const { rows } = size
    const buffers: GPUBuffer[] = []
    const add = async (words: number, mask: number) => {
      const buffer = await device.allocate(4 * words, 'a column to measure selections on')
      const recorder = device.record()
      // Disjoint numbers give columns that have nothing to do with each other.
      random.record(recorder, buffer, words, buffers.length * 2 * rows, mask)
      recorder.submit()
      buffers.push(buffer)
    }
    try {
      for (let i = 0; i < size.words; i++) await add(rows, 0xffffffff)
      for (let i = 0; i < size.wide; i++) await add(2 * rows, 0xffffffff)
      await add(rows, 2 ** FEW_VALUE_BITS - 1)
      await add(rows, SAMPLE_STRINGS - 1)
      return new SampleColumns(buffers, size)
    } catch (error) {
      for (const buffer of buffers) buffer.destroy()
      throw error
    }
  }

  destroy(): void {
    for (const buffer of this.#buffers) buffer.destroy()
  }
}

/** In their order. */
function sampleStrings(): string[] {
  return Array.from({ length: SAMPLE_STRINGS }, (_, code) =>
    code.toString(16).padStart(4, '0').padEnd(SAMPLE_STRING_BYTES, 'x'),
  )
}
