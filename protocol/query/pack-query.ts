import { asBytes, columnOf } from '../columns.js'
import { badRequest } from '../errors.js'
import type { Section, Sections } from '../frame.js'
import { isMap } from '../is-map.js'
import { LIMITS } from '../limits.js'
import { titleOf } from '../shown.js'
import { hasLoneSurrogate } from '../tuple-key.js'
import type { ConstantList } from './constant-lists.js'
import { DIGITS, INTEGER_RANGES } from './integer-ranges.js'

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
  const { query, lists } = takeLists(tree)
  return packedWith(query, lists)
}

/** A tree whose lists were taken out of it, with them. */
export function packedWith(query: unknown, lists: readonly ConstantList[]): PackedQuery {
  const sections = Object.fromEntries<Section>(
    lists.flatMap((list, i) => Object.entries(list).map(([part, section]) => [`${i}.${part}`, section])),
  )
  return { fields: { query, lists: lists.length || undefined }, sections }
}

/** As `packQuery`, of a tree that goes nowhere. */
export function takeLists(tree: unknown): {
  readonly query: unknown
  readonly lists: readonly ConstantList[]
} {
  const lists: ConstantList[] = []
  const query = packed(tree, lists)
  return { query, lists }
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
  throw badRequest(`query: ${titleOf(part)} is not part of a query; numbers past 2^53 are texts with a type`)
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
