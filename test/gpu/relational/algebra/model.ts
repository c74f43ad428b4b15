import { fieldOf, type TupleLayout } from '../../../../gpu/relational/algebra/attributes.js'
import type { Comparison, Predicate } from '../../../../gpu/relational/algebra/predicate.js'
import type { SetOperation } from '../../../../gpu/relational/algebra/set-operators.js'
import type { ColumnShape } from '../../../../gpu/relational/columns.js'
import type { HostColumns } from '../../primitives/columns.js'

/** A tuple of the plain model: key and payload as numbers, the low word least significant. */
export interface Tuple {
  readonly key: bigint
  readonly payload: bigint
}

const wordsOf = (number: bigint, words: number) =>
  Array.from({ length: words }, (_, i) => Number((number >> BigInt(32 * i)) & 0xffff_ffffn))

const numberOf = (words: Uint32Array, i: number, width: number) => {
  let number = 0n
  for (let w = width - 1; w >= 0; w--) number = (number << 32n) | BigInt(words[i * width + w]!)
  return number
}

export function toTuples({ keys, payloads }: HostColumns, { keyWords, payloadWords }: ColumnShape): Tuple[] {
  return Array.from({ length: keys.length / keyWords }, (_, i) => ({
    key: numberOf(keys, i, keyWords),
    payload: numberOf(payloads, i, payloadWords),
  }))
}

export function toColumns(tuples: readonly Tuple[], { keyWords, payloadWords }: ColumnShape): HostColumns {
  return {
    keys: Uint32Array.from(tuples.flatMap(({ key }) => wordsOf(key, keyWords))),
    payloads: Uint32Array.from(tuples.flatMap(({ payload }) => wordsOf(payload, payloadWords))),
  }
}

const compare = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0)

export function byTuple(a: Tuple, b: Tuple): number {
  return compare(a.key, b.key) || compare(a.payload, b.payload)
}

export function byKey(a: Tuple, b: Tuple): number {
  return compare(a.key, b.key)
}

/** The value of an attribute in a tuple. */
export function attributeOf(tuple: Tuple, layout: TupleLayout, name: string): number {
  const { word, shift, bits } = fieldOf(layout, name)
  const number = word < 2 ? tuple.key >> BigInt(32 * word) : tuple.payload >> BigInt(32 * (word - 2))
  return Number((number >> BigInt(shift)) & ((1n << BigInt(bits)) - 1n))
}

const HOLDS: Readonly<Record<Comparison['operator'], (value: number, constant: number) => boolean>> = {
  '=': (value, constant) => value === constant,
  '<>': (value, constant) => value !== constant,
  '<': (value, constant) => value < constant,
  '<=': (value, constant) => value <= constant,
  '>': (value, constant) => value > constant,
  '>=': (value, constant) => value >= constant,
}

export function select(tuples: readonly Tuple[], layout: TupleLayout, predicate: Predicate): Tuple[] {
  return tuples.filter((tuple) =>
    predicate.every(({ attribute, operator, constant }) =>
      HOLDS[operator](attributeOf(tuple, layout, attribute), constant),
    ),
  )
}

/** Of sorted tuples. Of equal ones those of the first relation come first. */
export function combine(
  operation: SetOperation,
  first: readonly Tuple[],
  second: readonly Tuple[],
  by: 'key' | 'tuple',
): Tuple[] {
  const name = ({ key, payload }: Tuple) => (by === 'key' ? `${key}` : `${key} ${payload}`)
  const [firsts, seconds] = [new Set(first.map(name)), new Set(second.map(name))]
  if (operation === 'intersect') return first.filter((tuple) => seconds.has(name(tuple)))
  if (operation === 'difference') return first.filter((tuple) => !seconds.has(name(tuple)))
  const both = [...first, ...second.filter((tuple) => !firsts.has(name(tuple)))]
  return both.sort(by === 'key' ? byKey : byTuple)
}

/** Pairs of sorted tuples with equal keys; the second's payload has so many words. */
export function join(first: readonly Tuple[], second: readonly Tuple[], secondWords: number): Tuple[] {
  const matches = new Map<bigint, Tuple[]>()
  for (const tuple of second) {
    const found = matches.get(tuple.key)
    if (found === undefined) matches.set(tuple.key, [tuple])
    else found.push(tuple)
  }
  return first.flatMap(({ key, payload }) =>
    (matches.get(key) ?? []).map((match) => ({
      key,
      payload: (payload << BigInt(32 * secondWords)) | match.payload,
    })),
  )
}
