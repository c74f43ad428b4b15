import { aligned, KEY_ARRAYS, type KeyArray } from '../columns.js'
import { badRequest } from '../errors.js'
import type { Section } from '../frame.js'
import { LIMITS } from '../limits.js'
import type { RequestReader } from '../request-reader.js'
import type { FixedKeyType } from '../types.js'
import { areUtf8 } from '../utf8.js'
import { type Constant, freeNumber, integer, text } from './constants.js'

/** The constants of one `in` as columns of a frame: numbers, or texts and the u32 offsets that cut them. */
export interface ConstantList {
  readonly values?: Section | undefined
  readonly texts?: Section | undefined
  readonly offsets?: Section | undefined
}

/**
 * The lists of a request.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function readLists(r: RequestReader): readonly ConstantList[] {
  const count = r.optionalWhole('lists') ?? 0
  if (count > LIMITS.queryLists) {
    throw badRequest(`a query has ${count} lists of constants; ${LIMITS.queryLists} are allowed`)
  }
  return Array.from({ length: count }, (_, i) => {
    const values = r.optionalSection(`${i}.values`)
    const texts = r.optionalSection(`${i}.texts`)
    const offsets = r.optionalSection(`${i}.offsets`)
    const isNumbers = values !== undefined && texts === undefined && offsets === undefined
    const isTexts = values === undefined && texts !== undefined && offsets?.type === 'u32'
    if (isNumbers || isTexts) return { values, texts, offsets }
    throw badRequest(
      `list ${i} of a query needs a section "${i}.values", or "${i}.texts" and u32 "${i}.offsets"`,
    )
  })
}

function isNumeric(type: Section['type']): type is FixedKeyType {
  return type in KEY_ARRAYS
}

/** How many constants a list has; what is cut off at its end is found by `constantsOf`. */
export function listLength({ values, offsets }: ConstantList): number {
  if (values === undefined) return Math.max(0, (offsets?.bytes.byteLength ?? 0) / 4 - 1)
  return isNumeric(values.type) ? values.bytes.byteLength / KEY_ARRAYS[values.type].BYTES_PER_ELEMENT : 0
}

/**
 * The constants of a list.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function constantsOf({ values, texts, offsets }: ConstantList): readonly Constant[] {
  if (values === undefined) return textsOf(texts?.bytes ?? new Uint8Array(0), offsets?.bytes).map(text)
  const { type, bytes } = values
  if (!isNumeric(type)) {
    throw badRequest(
      `the constants of a list are ${Object.keys(KEY_ARRAYS).join(', ')} or texts, not ${type}`,
    )
  }
  return Array.from<number | bigint, Constant>(aligned<KeyArray>(bytes, KEY_ARRAYS[type]), (value) =>
    typeof value === 'bigint' ? integer(value) : freeNumber(value),
  )
}

function textsOf(bytes: Uint8Array, places: Uint8Array | undefined): readonly string[] {
  const offsets = aligned(places ?? new Uint8Array(0), Uint32Array)
  const ascends = offsets.every((offset, i) => i === 0 || offset >= offsets[i - 1]!)
  if (!ascends || offsets[0] !== 0 || offsets.at(-1) !== bytes.byteLength) {
    throw badRequest('the offsets of a list of texts must go from 0 to their end and not descend')
  }
  if (!areUtf8(bytes, offsets)) throw badRequest('the texts of a list are not UTF-8')
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return Array.from({ length: offsets.length - 1 }, (_, i) =>
    decoder.decode(bytes.slice(offsets[i], offsets[i + 1])),
  )
}
