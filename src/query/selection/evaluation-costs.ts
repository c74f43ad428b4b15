import { FEW_INTERVALS, TABLE_BITS } from '../../../gpu/relational/expressions/within.js'
import { valueWords } from '../../../gpu/relational/query/query-column.js'
import {
  type ColumnWidth,
  type Condition,
  columnsOf,
  type SelectionCosts,
  type ValueSet,
} from '../../../gpu/relational/selection/selection-types.js'
import type { StringDictionary } from '../../../gpu/relational/string-dictionary.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'
import type { ColumnDomain } from '../conditions/column-domain.js'
import type { Evaluation, MatchEvaluation } from './cost-model.js'

/** Strings of a dictionary that are looked at for their length. */
const MEASURED_STRINGS = 64

/** What evaluating a condition takes beyond reading its columns. */
export function evaluationOf(
  condition: Condition,
  columns: readonly ColumnDomain[],
  costs: SelectionCosts,
): Evaluation {
  const { predicate } = costs
  switch (condition.kind) {
    case 'values':
      return { perRow: setCost(condition.set, predicate) }
    case 'match': {
      const { dictionary } = columns[condition.column]!
      if (dictionary === undefined) return { perRow: predicate.table }
      const { row, string, byte } = costs.match
      const { size: strings } = dictionary
      const ofBytes = byte * getOrInsert(lengths, dictionary, meanLength)
      const perString = string + ofBytes
      const bytes = perString === 0 ? 0 : ofBytes / perString
      return { perRow: 0, match: { perRow: row, perString, bytes, strings, prepared: predicate.table } }
    }
    case 'any':
      return allOf(condition.branches.flat().map((part) => evaluationOf(part, columns, costs)))
    case 'expression':
      return { perRow: predicate.expression * partsOf(condition.expression) }
  }
}

/** The same for a row whose strings are matched. */
export function perMatchedRow({ perRow, match }: Evaluation): number {
  return perRow + (match === undefined ? 0 : match.perRow + match.perString)
}

/** What a condition takes for a row that is looked at by its number, its columns included. */
export function perListedRow(
  condition: Condition,
  columns: readonly ColumnDomain[],
  costs: SelectionCosts,
): number {
  return columnsOf(condition).reduce(
    (sum, column) => sum + costs.gather[widthOf(columns[column]!)],
    perMatchedRow(evaluationOf(condition, columns, costs)),
  )
}

/** How a column is read. */
export function widthOf({ type }: Pick<ColumnDomain, 'type'>): ColumnWidth {
  return valueWords(type) === 2 ? 'wide' : 'word'
}

function allOf(parts: readonly Evaluation[]): Evaluation {
  const perRow = parts.reduce((sum, part) => sum + part.perRow, 0)
  const matches = parts.flatMap(({ match }) => match ?? [])
  if (matches.length === 0) return { perRow }
  const sum = (cost: (match: MatchEvaluation) => number) => matches.reduce((all, each) => all + cost(each), 0)
  const perString = sum((match) => match.perString)
  // Parts are by what strings take.
  const share = (part: (match: MatchEvaluation) => number) =>
    perString === 0 ? 0 : sum((match) => match.perString * part(match)) / perString
  return {
    perRow,
    match: {
      perRow: sum((match) => match.perRow),
      perString,
      bytes: share((match) => match.bytes),
      // As many of this cost as all of the strings take together.
      strings: share((match) => match.strings),
      prepared: sum((match) => match.prepared),
    },
  }
}

function setCost({ intervals }: ValueSet, predicate: SelectionCosts['predicate']): number {
  const { length } = intervals
  if (length <= FEW_INTERVALS) return predicate.interval * Math.max(1, length)
  if (intervals[length - 1]!.high - intervals[0]!.low < TABLE_BITS) return predicate.table
  return predicate.search * Math.ceil(Math.log2(length))
}

function partsOf(expression: TypedExpression): number {
  return argumentsOf(expression).reduce((sum, argument) => sum + partsOf(argument), 1)
}

const lengths = new WeakMap<StringDictionary, number>()

/** Of the strings of a dictionary, from some of them; what is not ASCII counts as one byte. */
function meanLength(dictionary: StringDictionary): number {
  const step = Math.max(1, Math.floor(dictionary.size / MEASURED_STRINGS))
  let strings = 0
  let length = 0
  for (let code = 0; code < dictionary.size; code += step) {
    length += dictionary.at(code).length
    strings++
  }
  return strings === 0 ? 0 : length / strings
}
