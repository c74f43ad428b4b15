import { evaluateRows } from '../expressions/evaluate.js'
import type { DeviceWork } from '../query/device-work.js'
import { dictionaryOf } from '../query/dictionaries.js'
import type { QueryColumn } from '../query/query-column.js'
import type { CalibrationSize } from './calibrate.js'
import { randomWords } from './random-words.js'

/** Different strings of the columns of strings: as many as leave a GPU's nearest caches to none, as those of most columns do. */
const SAMPLE_STRINGS = 2 ** 16
/** Bytes of the strings of both. */
export const SHORT_STRING_BYTES = 8
export const LONG_STRING_BYTES = 24
/** Bits of the values of the column of few values. */
export const FEW_VALUE_BITS = 12

/** Columns of uniformly random values on the device, none correlated with another. */
export interface SampleColumns {
  readonly words: readonly QueryColumn[]
  readonly wide: readonly QueryColumn[]
  /** The words of the wide ones, as columns of one word and of twice as many rows. */
  readonly tall: readonly QueryColumn[]
  /** Values of `FEW_VALUE_BITS` bits. */
  readonly few: QueryColumn
  /** Two columns of one buffer: of short strings, and of long ones. */
  readonly short: QueryColumn
  readonly long: QueryColumn
}

/** Makes them, in the work's scratch memory. */
export async function sampleColumns(
  work: DeviceWork,
  { rows, words, wide }: CalibrationSize,
): Promise<SampleColumns> {
  let columns = 0
  // Disjoint numbers give columns that have nothing to do with each other.
  const random = (mask?: number) => randomWords(columns++ * 2 * rows, mask)
  const [few, codes, ...ofWords] = await evaluateRows(work, { count: rows }, [
    random(2 ** FEW_VALUE_BITS - 1),
    random(SAMPLE_STRINGS - 1),
    ...Array.from({ length: words }, () => random()),
  ])
  const ofWide = Array.from({ length: wide }, () => random())
  const tall = await evaluateRows(work, { count: 2 * rows }, ofWide)
  await work.submitted()
  const strings = (bytes: number): QueryColumn => {
    return { ...codes!, type: 'string', dictionary: dictionaryOf(sampleStrings(bytes)) }
  }
  return {
    words: ofWords,
    wide: tall.map((column) => ({ ...column, type: 'u64' })),
    tall,
    few: few!,
    short: strings(SHORT_STRING_BYTES),
    long: strings(LONG_STRING_BYTES),
  }
}

/** In their order. */
function sampleStrings(bytes: number): string[] {
  return Array.from({ length: SAMPLE_STRINGS }, (_, code) =>
    code.toString(16).padStart(4, '0').padEnd(bytes, 'x'),
  )
}
