import { aligned, asBytes, columnOf, KEY_ARRAYS, type KeyArray } from '../columns.js'
import { badRequest } from '../errors.js'
import type { Section, Sections } from '../frame.js'
import { LIMITS } from '../limits.js'
import type { RequestReader } from '../request-reader.js'
import { titleOf } from '../shown.js'
import { hasLoneSurrogate } from '../tuple-key.js'
import type { FixedKeyType } from '../types.js'
import { areUtf8 } from '../utf8.js'
import { type Constant, freeNumber, integer, text } from './constants.js'
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
  return { fields: { query, lists: lists.length || undefined }, sections: listSections(lists) }
}

function listSections(lists: readonly ConstantList[]): Sections {
  const sections: Record<string, Section> = {}
  lists.forEach((list, i) => {
    for (const part of ['values', 'texts', 'offsets'] as const) {
      const section = list[part]
      if (section !== undefined) sections[`${i}.${part}`] = section
    }
  })
  return sections
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
  const sorted = {
    u64: new Set<bigint>(),
    i64: new Set<bigint>(),
    f64: new Set<number>(),
    text: new Set<string>(),
  }
  const left = others.filter((other) => !isTaken(other, sorted))
  const taken = [
    sorted.i64.size > 0 && numbers('i64', BigInt64Array.from(sorted.i64)),
    sorted.u64.size > 0 && numbers('u64', BigUint64Array.from(sorted.u64)),
    sorted.f64.size > 0 && numbers('f64', Float64Array.from(sorted.f64)),
    sorted.text.size > 0 && texts([...sorted.text]),
  ].filter((list) => list !== false)
  const first = lists.length
  lists.push(...taken)
  const rest = left.map((other) => packed(other, lists, depth + 2))
  return { ...part, args: [packed(value, lists, depth + 2), ...rest], lists: taken.map((_, i) => first + i) }
}

interface SortedConstants {
  readonly u64: Set<bigint>
  readonly i64: Set<bigint>
  readonly f64: Set<number>
  readonly text: Set<string>
}

/** Takes a constant whose type says all of it; others, and what is no constant, are left to the tree. */
function isTaken(part: unknown, sorted: SortedConstants): boolean {
  if (!isMap(part) || Object.keys(part).some((name) => name !== 'value' && name !== 'type')) return false
  const { value, type } = part
  if (type === undefined && typeof value === 'string') {
    // Half of a surrogate pair is left to the tree, where it is as wrong as anywhere else.
    return !hasLoneSurrogate(value) && has(sorted.text, value)
  }
  if (type === undefined && typeof value === 'number') {
    if (Number.isSafeInteger(value)) return has(sorted.i64, BigInt(value))
    // A whole number past 2^53 may have lost digits, which is refused.
    return !Number.isInteger(value) && has(sorted.f64, value)
  }
  if ((type !== 'u64' && type !== 'i64') || typeof value !== 'string' || !/^-?\d{1,20}$/.test(value))
    return false
  const wide = BigInt(value)
  const range = type === 'u64' ? [0n, 2n ** 64n - 1n] : [-(2n ** 63n), 2n ** 63n - 1n]
  return wide >= range[0]! && wide <= range[1]! && has(sorted[type], wide)
}

function has<T>(set: Set<T>, value: T): true {
  set.add(value)
  return true
}

function numbers(type: 'i64' | 'u64' | 'f64', values: ArrayBufferView): ConstantList {
  return { values: { type, bytes: asBytes(values) } }
}

function texts(values: readonly string[]): ConstantList {
  const encoder = new TextEncoder()
  const { bytes, offsets = Uint32Array.of(0) } = columnOf(values.map((value) => encoder.encode(value)))
  return { texts: { type: 'bytes', bytes }, offsets: { type: 'u32', bytes: asBytes(offsets) } }
}
