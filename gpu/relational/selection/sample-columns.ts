import type { Device } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { dictionaryOf } from '../query/dictionaries.js'
import type { QueryColumn } from '../query/query-column.js'
import type { CalibrationSize } from './calibrate.js'
import { RandomWords } from './random-words.js'

/** Different strings of the columns of strings: as many as leave a GPU's nearest caches to none, as those of most columns do. */
const SAMPLE_STRINGS = 2 ** 16
/** Bytes of the strings of both. */
export const SHORT_STRING_BYTES = 8
export const LONG_STRING_BYTES = 24
/** Bits of the values of the column of few values. */
export const FEW_VALUE_BITS = 12

/** Columns of uniformly random values on the device, none correlated with another. */
export class SampleColumns {
  readonly words: readonly QueryColumn[]
  readonly wide: readonly QueryColumn[]
  /** The words of the wide ones, as columns of one word and of twice as many rows. */
  readonly tall: readonly QueryColumn[]
  /** Values of `FEW_VALUE_BITS` bits. */
  readonly few: QueryColumn
  /** Two columns of one buffer: of short strings, and of long ones. */
  readonly short: QueryColumn
  readonly long: QueryColumn
  readonly #buffers: readonly DeviceMemory[]

  private constructor(buffers: readonly DeviceMemory[], size: CalibrationSize) {
    const column = (type: 'u32' | 'u64', i: number): QueryColumn => ({
      type,
      values: buffers[i]!,
      validity: undefined,
      dictionary: undefined,
    })
    this.words = Array.from({ length: size.words }, (_, i) => column('u32', i))
    this.wide = Array.from({ length: size.wide }, (_, i) => column('u64', size.words + i))
    this.tall = Array.from({ length: size.wide }, (_, i) => column('u32', size.words + i))
    this.few = column('u32', size.words + size.wide)
    const strings = (bytes: number): QueryColumn => ({
      ...column('u32', size.words + size.wide + 1),
      type: 'string',
      dictionary: dictionaryOf(sampleStrings(bytes)),
    })
    this.short = strings(SHORT_STRING_BYTES)
    this.long = strings(LONG_STRING_BYTES)
    this.#buffers = buffers
  }

  static async create(device: Device, size: CalibrationSize): Promise<SampleColumns> {
    const random = new RandomWords(device)
    const { rows } = size
    const buffers: DeviceMemory[] = []
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
function sampleStrings(bytes: number): string[] {
  return Array.from({ length: SAMPLE_STRINGS }, (_, code) =>
    code.toString(16).padStart(4, '0').padEnd(bytes, 'x'),
  )
}
