import { finderOf } from '../../../gpu/relational/query/text-matches.js'
import { type Condition, columnsOf } from '../../../gpu/relational/selection/selection-types.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { ComparisonOp } from '../../../protocol/query/tree.js'
import { columnsRead, type TypedExpression } from '../../../protocol/query/typed.js'
import type { Implied } from '../conditions/normalise.js'
import type { EstimatedColumn } from './column-sample.js'
import { lowest, sizeOf } from './masks.js'
import { unknownShare } from './unknown-share.js'

/** Conditions that a mask has bits for. */
const MOST_CONDITIONS = 31

/** Deviations from what independent conditions give at which they count as correlated: chance alone makes as many in one of 15,000 pairs. */
const DEVIATIONS = 4

/** How many rows satisfy conditions, by themselves and together. */
export class Estimates {
  readonly #conditions: readonly EstimatedCondition[]
  readonly #joint = new Map<number, number>()
  #correlations: readonly number[] | undefined

  /**
   * @param conditions 31 at most, with those that are implied: a mask has room for them
   * @param implied those that follow from others, and stand behind them: their numbers go on
   */
  constructor(
    conditions: readonly Condition[],
    columns: readonly EstimatedColumn[],
    implied: readonly Implied[] = [],
  ) {
    const count = conditions.length + implied.length
    if (count > MOST_CONDITIONS) {
      throw new WarpdexError(
        'INTERNAL',
        `${count} conditions are estimated together, of ${MOST_CONDITIONS} at most`,
      )
    }
    this.#conditions = [
      ...conditions.map((condition) => estimated(condition, columns)),
      ...implied.map(({ condition, by }) => estimated(condition, columns, by)),
    ]
  }

  /** Whether some conditions have to do with each other. */
  get correlated(): boolean {
    return this.#correlated.some((mask, i) => mask !== 1 << i)
  }

  /** By condition those that it has to do with, itself among them. */
  get #correlated(): readonly number[] {
    this.#correlations ??= this.#conditions.map((condition, i) =>
      this.#conditions.reduce(
        (mask, other, j) => (i === j || areCorrelated(condition, other) ? mask | (1 << j) : mask),
        0,
      ),
    )
    return this.#correlations
  }

  /** The share of rows that satisfy all conditions of a mask. */
  joint(mask: number): number {
    if (mask === 0) return 1
    // Plans ask for it thousands of times: a closure for each would take a quarter of the planner's time.
    let share = this.#joint.get(mask)
    if (share === undefined) {
      share = this.#estimate(mask)
      this.#joint.set(mask, share)
    }
    return share
  }

  /** Conditions that have nothing to do with each other multiply: a sample has too few rows that satisfy several to tell more. */
  #estimate(mask: number): number {
    if ((mask & (mask - 1)) === 0) return this.#conditions[lowest(mask)]!.share
    let share = 1
    for (let left = mask; left !== 0; ) {
      const part = this.#connected(left & -left, mask)
      share *= this.#together(mask, part)
      left &= ~part
    }
    return share
  }

  /** The conditions of a mask that are correlated with some of its conditions, or with one that is. */
  #connected(first: number, mask: number): number {
    let connected = first
    for (let fresh = first; fresh !== 0; ) {
      const found = (this.#correlated[lowest(fresh)]! & mask & ~connected) | 0
      connected |= found
      fresh = (fresh & (fresh - 1)) | found
    }
    return connected
  }

  /** Correlated conditions. Where the sample has few rows that satisfy all, what independent conditions give counts as one of these. */
  #together(mask: number, part: number): number {
    const expected = this.#independent(mask, part)
    if ((part & (part - 1)) === 0 || expected === 0) return expected
    const first = this.#conditions[lowest(part)]!
    const both = first.bits!.slice()
    let least = 1
    for (let left = part; left !== 0; left &= left - 1) {
      const { bits, share } = this.#conditions[lowest(left)]!
      for (let i = 0; i < both.length; i++) both[i]! &= bits![i]!
      least = Math.min(least, share)
    }
    return Math.min(least, (countBits(both) + 1) / (first.rows + 1 / expected))
  }

  /** As if conditions had nothing to do with each other, but for those that follow from others. */
  #independent(mask: number, part: number): number {
    let share = 1
    for (let left = part; left !== 0; left &= left - 1) {
      const condition = this.#conditions[lowest(left)]!
      const { impliedBy } = condition
      if (impliedBy === undefined || (mask & (1 << impliedBy)) === 0) share *= condition.share
    }
    return share
  }
}

/** The share of rows that satisfy all of any number of conditions; of many, those that stand far from each other count as independent. */
export function shareOfAll(conditions: readonly Condition[], columns: readonly EstimatedColumn[]): number {
  let share = 1
  for (let first = 0; first < conditions.length; first += MOST_CONDITIONS) {
    const some = conditions.slice(first, first + MOST_CONDITIONS)
    share *= new Estimates(some, columns).joint(2 ** some.length - 1)
  }
  return share
}

/** What is known of one condition. */
interface EstimatedCondition {
  readonly impliedBy: number | undefined
  /** The share of rows that satisfy it. */
  readonly share: number
  readonly source: symbol | undefined
  /** Rows of the sample. */
  readonly rows: number
  /** A bit for each row of the sample, where one sample has all of its columns. */
  readonly bits: Uint32Array | undefined
}

function estimated(
  condition: Condition,
  columns: readonly EstimatedColumn[],
  impliedBy?: number,
): EstimatedCondition {
  const from = columns[columnsOf(condition)[0] ?? 0]?.from
  const bits = bitsOf(condition, columns)
  const rows = from?.sample.rows ?? 0
  return { impliedBy, share: shareOf(condition, columns, bits, rows), source: from?.source, rows, bits }
}

function shareOf(
  condition: Condition,
  columns: readonly EstimatedColumn[],
  bits: Uint32Array | undefined,
  rows: number,
): number {
  const sample = condition.kind === 'values' ? columns[condition.column]!.from?.sample : undefined
  if (condition.kind === 'values' && sample !== undefined && rows > 0) return sample.shareOf(condition.set)
  const unseen =
    condition.kind === 'any' ? anyShare(condition.branches, columns) : unknownShare(condition, columns)
  // One row among those of the sample is as if it were known beforehand.
  return bits === undefined || rows === 0 ? unseen : (countBits(bits) + unseen) / (rows + 1)
}

/** As if conditions had nothing to do with each other. */
function anyShare(branches: readonly (readonly Condition[])[], columns: readonly EstimatedColumn[]): number {
  const none = branches.map((branch) => {
    return 1 - branch.reduce((share, part) => share * estimated(part, columns).share, 1)
  })
  return 1 - none.reduce((product, share) => product * share, 1)
}

/** Which rows of the sample satisfy a condition, a bit for each; undefined where no sample can tell. */
export function bitsOf(condition: Condition, columns: readonly EstimatedColumn[]): Uint32Array | undefined {
  switch (condition.kind) {
    case 'values':
      return columns[condition.column]!.from?.sample.bitsOf(condition.set)
    case 'match': {
      const { column, match, text, negated } = condition
      const isFound = finderOf(match, text)
      return columns[column]!.from?.sample.bitsWhere((string) => isFound(string) !== negated)
    }
    case 'expression':
      return expressionBits(condition.expression, columns)
    case 'any': {
      if (!isOfOneSource(columnsOf(condition), columns)) return undefined
      const branches = condition.branches.map((branch) => branch.map((part) => bitsOf(part, columns)))
      return combined(
        'or',
        branches.map((branch) => combined('and', branch)),
      )
    }
  }
}

/** Of comparisons of columns, put together. */
function expressionBits(
  expression: TypedExpression,
  columns: readonly EstimatedColumn[],
): Uint32Array | undefined {
  const { kind } = expression
  if (kind === 'comparison') return comparedRows(expression, columns)
  if ((kind !== 'and' && kind !== 'or') || !isOfOneSource(columnsRead(expression), columns)) return undefined
  return combined(
    kind,
    expression.args.map((part) => expressionBits(part, columns)),
  )
}

const HOLDS: Readonly<Record<ComparisonOp, (left: bigint, right: bigint) => boolean>> = {
  '=': (left, right) => left === right,
  '<>': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
}

/** A bit for each row of a sample for which a comparison of two of its columns is true; undefined of others. */
function comparedRows(
  { op, args }: Extract<TypedExpression, { kind: 'comparison' }>,
  columns: readonly EstimatedColumn[],
): Uint32Array | undefined {
  const [left, right] = args.map((side) => (side.kind === 'column' ? columns[side.index] : undefined))
  if (left?.from === undefined || left.from.source !== right?.from?.source) return undefined
  // Strings are known by their numbers.
  if (left.type !== right.type || left.dictionary !== right.dictionary) return undefined
  const [ofLeft, ofRight] = [left.from.sample, right.from.sample]
  const bits = new Uint32Array(Math.ceil(ofLeft.rows / 32))
  for (let row = 0; row < ofLeft.rows; row++) {
    const [place, other] = [ofLeft.places[row]!, ofRight.places[row]!]
    if (place < 0 || other < 0) continue
    if (HOLDS[op](ofLeft.values[place]!, ofRight.values[other]!)) bits[row >> 5]! |= 1 << (row & 31)
  }
  return bits
}

function isOfOneSource(numbers: readonly number[], columns: readonly EstimatedColumn[]): boolean {
  return new Set(numbers.map((column) => columns[column]!.from?.source)).size === 1
}

/** Rows that all of some bits are set for, or any; undefined where some are not known. */
function combined(kind: 'and' | 'or', all: readonly (Uint32Array | undefined)[]): Uint32Array | undefined {
  return all.reduce((one, other) => {
    return one && other?.map((word, i) => (kind === 'and' ? word & one[i]! : word | one[i]!))
  })
}

/** Whether more or fewer rows satisfy both than chance would have it, given how many satisfy each. */
function areCorrelated(a: EstimatedCondition, b: EstimatedCondition): boolean {
  if (a.source === undefined || a.source !== b.source || a.rows < 2) return false
  const [ofA, ofB] = [a.bits, b.bits]
  if (ofA === undefined || ofB === undefined) return false
  const { rows } = a
  const [x, y] = [countBits(ofA) / rows, countBits(ofB) / rows]
  let both = 0
  for (let i = 0; i < ofA.length; i++) both += sizeOf(ofA[i]! & ofB[i]!)
  // Of a hypergeometric distribution.
  const variance = (rows * rows * x * (1 - x) * y * (1 - y)) / (rows - 1)
  return variance > 0 && Math.abs(both - rows * x * y) > DEVIATIONS * Math.sqrt(variance)
}

function countBits(words: Uint32Array): number {
  let count = 0
  for (let i = 0; i < words.length; i++) count += sizeOf(words[i]!)
  return count
}
