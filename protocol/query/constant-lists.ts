import { aligned, asBytes, columnOf, KEY_ARRAYS, type KeyArray } from '../columns.js'
import { badRequest } from '../errors.js'
import type { Section, Sections } from '../frame.js'
import { LIMITS } from '../limits.js'
import type { RequestReader } from '../request-reader.js'
import { titleOf } from '../shown.js'
import { hasLoneSurrogate } from '../tuple-key.js'
import type { FixedKeyType } from '../types.js'
import { areUtf8 } from '../utf8.js'
import { type Constant, DIGITS, freeNumber, INTEGER_RANGES, integer, text } from './constants.js'
import { isMap } from './node-reader.js'

/** The constants of one `in` as columns of a frame: numbers, or texts and the u32 offsets that cut them. */
export interface ConstantList {
  readonly values?: Section | undefined
  readonly texts?: Section | undefined
  readonly offsets?: Section | undefined
}

/** A tree as it travels, beside the lists that were taken out of it. */
export interface PackedQuery {
  readonly fields: { readonly query: unknown; readonly lists?: number | undefined }
  readonly sections: Sections
}

/** Constants that are left where they stand: a few of them take no more room there than a section does. */
const INLINE = 64

/**
 * Takes the constants of long lists of `in` out of a tree, so that they travel as columns: in the header each would be a map. Whatever else the tree
 * holds, right or wrong, stays as it is.
 */
export function packQuery(tree: unknown): PackedQuery {
  const lists: ConstantList[] = []
  const query = packed(tree, lists)
  const sections = Object.fromEntries<Section>(
    lists.flatMap((list, i) => Object.entries(list).map(([part, section]) => [`${i}.${part}`, section])),
  )
  return { fields: { query, lists: lists.length || undefined }, sections }
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
  if (!areUtf8(bytes, offsets)) throw badRequest('the texts of a list are no UTF-8')
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return Array.from({ length: offsets.length - 1 }, (_, i) =>
    decoder.decode(bytes.slice(offsets[i], offsets[i + 1])),
  )
}

/** @param depth how many lists and maps it is within: two a level of a query at most */
function packed(part: unknown, lists: ConstantList[], depth = 0): unknown {
  if (depth > 3 * LIMITS.queryDepth)
    throw badRequest(`query: a query is at most ${LIMITS.queryDepth} levels deep`)
  if (Array.isArray(part)) return Array.from(part, (element) => packed(element, lists, depth + 1))
  if (!isMap(part)) return scalar(part)
  const { op, args } = part
  if (op === 'in' && Array.isArray(args) && args.length > INLINE + 1)
    return packedIn(part, args, lists, depth)
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, packed(value, lists, depth + 1)]),
  )
}

/** What a header can hold, and nothing else. */
function scalar(part: unknown): unknown {
  if (part === null || !['function', 'symbol', 'bigint'].includes(typeof part)) return part
  throw badRequest(`query: ${titleOf(part)} is no part of a query; numbers past 2^53 are texts with a type`)
}

function packedIn(
  part: object,
  [value, ...others]: readonly unknown[],
  lists: ConstantList[],
  depth: number,
): unknown {
  const numbers = { i64: new Set<bigint>(), u64: new Set<bigint>(), f64: new Set<number>() }
  const texts = new Set<string>()
  const left = others.filter((other) => {
    const constant = listedConstant(other)
    if (constant?.kind === 'string') texts.add(constant.value)
    else if (constant?.kind === 'f64') numbers.f64.add(constant.value)
    else if (constant !== undefined) numbers[constant.kind].add(constant.value)
    return constant === undefined
  })
  const first = lists.length
  if (numbers.i64.size > 0) lists.push(numberList('i64', BigInt64Array.from(numbers.i64)))
  if (numbers.u64.size > 0) lists.push(numberList('u64', BigUint64Array.from(numbers.u64)))
  if (numbers.f64.size > 0) lists.push(numberList('f64', Float64Array.from(numbers.f64)))
  if (texts.size > 0) lists.push(textList([...texts]))
  const own = Array.from({ length: lists.length - first }, (_, i) => first + i)
  const args = [value, ...left].map((other) => packed(other, lists, depth + 2))
  return { ...part, args, lists: own }
}

/** A constant whose type says all of it; undefined for others, and for what is no constant, which are left to the tree. */
function listedConstant(part: unknown) {
  if (!isMap(part) || Object.keys(part).some((name) => name !== 'value' && name !== 'type')) return undefined
  const { value, type } = part
  if (type === undefined && typeof value === 'string') {
    // Half of a surrogate pair is as wrong in the tree as anywhere else.
    return hasLoneSurrogate(value) ? undefined : ({ kind: 'string', value } as const)
  }
  if (type === undefined && typeof value === 'number') {
    if (Number.isSafeInteger(value)) return { kind: 'i64', value: BigInt(value) } as const
    // A whole number past 2^53 may have lost digits, which is refused.
    return Number.isInteger(value) ? undefined : ({ kind: 'f64', value } as const)
  }
  if ((type !== 'u64' && type !== 'i64') || typeof value !== 'string' || !DIGITS.test(value)) return undefined
  const wide = BigInt(value)
  const [least, most] = INTEGER_RANGES[type]!
  return wide >= least && wide <= most ? ({ kind: type, value: wide } as const) : undefined
}

function numberList(type: 'i64' | 'u64' | 'f64', values: ArrayBufferView): ConstantList {
  return { values: { type, bytes: asBytes(values) } }
}

function textList(values: readonly string[]): ConstantList {
  const encoder = new TextEncoder()
  const { bytes, offsets = Uint32Array.of(0) } = columnOf(values.map((value) => encoder.encode(value)))
  return { texts: { type: 'bytes', bytes }, offsets: { type: 'u32', bytes: asBytes(offsets) } }
}
