import { floatOrder, orderedNumber } from '../../../gpu/relational/expressions/ordered-numbers.js'
import {
  between,
  complement,
  isWithin,
  NOTHING,
  withoutNulls,
} from '../../../gpu/relational/expressions/value-sets.js'
import { codeOf, prefixRange } from '../../../gpu/relational/query/dictionaries.js'
import type { ValueSet } from '../../../gpu/relational/selection/selection-types.js'
import type { StringDictionary } from '../../../gpu/relational/string-dictionary.js'
import { type ColumnType, storageOf } from '../../../protocol/column-types.js'
import { INTEGER_RANGES } from '../../../protocol/query/integer-ranges.js'
import type { ComparisonOp } from '../../../protocol/query/tree.js'
import type { ConstantValue } from '../../../protocol/query/typed.js'

/** What of a column decides which values it may have. */
export interface ColumnDomain {
  readonly type: ColumnType
  /** Whether some rows may have no value. */
  readonly nullable: boolean
  /** Of strings. */
  readonly dictionary: StringDictionary | undefined
}

/** The largest number that stands for a value of a column, as an unsigned one in order; −1 for strings of which there are none. */
export function lastValue({ type, dictionary }: Pick<ColumnDomain, 'type' | 'dictionary'>): bigint {
  if (type === 'string') return BigInt(dictionary?.size ?? 0) - 1n
  if (type === 'boolean') return 1n
  const floats = floatOrder(type)
  if (floats !== undefined) return floats.notANumber
  const [least, most] = INTEGER_RANGES[storageOf(type)]!
  return most - least
}

/** The values that compare to a constant so, the column on the left. */
export function comparisonSet(op: ComparisonOp, constant: ConstantValue, domain: ColumnDomain): ValueSet {
  if (constant === null) return NOTHING
  const last = lastValue(domain)
  if (typeof constant === 'string') return textSet(op, constant, domain.dictionary, last)
  return rangeSet(op, orderedNumber(constant, domain.type), last)
}

/** The strings of a dictionary that begin with a text: they follow each other. */
export function prefixSet(dictionary: StringDictionary, text: string): ValueSet {
  const [first, end] = prefixRange(dictionary, text)
  return between(BigInt(first), BigInt(end) - 1n)
}

function rangeSet(op: ComparisonOp, at: bigint, last: bigint): ValueSet {
  switch (op) {
    case '=':
      return between(at, at)
    case '<>':
      return withoutNulls(complement(between(at, at), last))
    case '<':
      return between(0n, at - 1n)
    case '<=':
      return between(0n, at)
    case '>':
      return between(at + 1n, last)
    case '>=':
      return between(at, last)
  }
}

/** A text that is not in the dictionary lies before a string of it, or after all. */
function textSet(
  op: ComparisonOp,
  text: string,
  dictionary: StringDictionary | undefined,
  last: bigint,
): ValueSet {
  if (dictionary === undefined || last < 0n) return NOTHING
  const at = BigInt(dictionary.lowerBound(text))
  if (codeOf(dictionary, text) !== undefined) return rangeSet(op, at, last)
  if (op === '=') return NOTHING
  if (op === '<>') return between(0n, last)
  return rangeSet(op === '<' || op === '<=' ? '<' : '>=', at, last)
}

/** All values of a column, without null. */
export function allValues(domain: ColumnDomain): ValueSet {
  return between(0n, lastValue(domain))
}

/** Whether a set has all that a column may have. */
export function isTautology(set: ValueSet, domain: ColumnDomain): boolean {
  return isWithin({ ...allValues(domain), nulls: domain.nullable }, set)
}
