import type { Condition, ValueSet } from '../../../gpu/relational/selection/selection-types.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import { type ColumnFacts, isTautology, lastValue } from './column-domain.js'
import { areEqual, intersectionOf, isEmpty, isWithin, unionOf, withoutNulls } from './value-sets.js'

/** All parts are true. What the others imply is kept apart: it may be cheaper to look at first, and need not be looked at. */
export interface And {
  readonly kind: 'and'
  readonly parts: readonly (Condition | Or)[]
  readonly implied: readonly ImpliedBy[]
}

/** A set that a part implies. */
export interface ImpliedBy {
  readonly condition: Values
  readonly part: Condition | Or
}

/** Some branch is true. */
export interface Or {
  readonly kind: 'or'
  readonly branches: readonly (Condition | And)[]
}

/** When an expression is true, in two values: null has been seen to at the leaves. */
export type Formula = boolean | Condition | And | Or

export type Values = Extract<Condition, { kind: 'values' }>

export function isValues(part: Condition | And | Or): part is Values {
  return part.kind === 'values'
}

/** Puts formulas over some columns together, in as simple a form as it can. */
export class FormulaBuilder {
  readonly #columns: readonly ColumnFacts[]

  constructor(columns: readonly ColumnFacts[]) {
    this.#columns = columns
  }

  values(column: number, set: ValueSet): boolean | Values {
    const facts = this.#columns[column]!
    const own = facts.nullable ? set : withoutNulls(set)
    if (isEmpty(own)) return false
    return isTautology(own, facts) ? true : { kind: 'values', column, set: own }
  }

  and(formulas: readonly Formula[]): Formula {
    const parts: (Condition | Or)[] = []
    const implied: ImpliedBy[] = []
    for (const formula of formulas) {
      if (formula === false) return false
      if (formula === true) continue
      if (formula.kind === 'and') {
        parts.push(...formula.parts)
        implied.push(...formula.implied)
      } else parts.push(formula)
    }
    const merged = this.#merge(parts.filter(isValues), intersectionOf, false)
    if (merged === undefined) return false
    const others = parts.filter((part) => !isValues(part))
    const expressions = joinedExpressions(others)
    const kept = [
      ...merged,
      ...distinct(others.filter((part) => part.kind !== 'expression')),
      ...new Set(expressions.values()),
    ]
    if (kept.length === 0) return true
    if (kept.length === 1 && implied.length === 0) return kept[0]!
    return {
      kind: 'and',
      parts: kept,
      implied: implied.map(({ condition, part }) => ({ condition, part: expressions.get(part) ?? part })),
    }
  }

  /** @param source the same in the words of the query, for what has to be evaluated as it is */
  or(formulas: readonly Formula[], source: TypedExpression): Formula {
    const branches: (Condition | And)[] = []
    for (const formula of formulas) {
      if (formula === true) return true
      if (formula === false) continue
      if (formula.kind === 'or') branches.push(...formula.branches)
      else branches.push(formula)
    }
    const single = this.#merge(branches.filter(isValues), unionOf, true)
    if (single === undefined) return true
    const others = distinct(branches.filter((branch) => !isValues(branch)))
    const left = absorbed([...single, ...others])
    if (left.length === 0) return false
    if (left.length === 1) return left[0]!
    return this.#factored(left, source)
  }

  /** (A ∧ B) ∨ (A ∧ C) is A ∧ (B ∨ C); and of columns that all branches restrict the union of their sets is implied. */
  #factored(branches: readonly (Condition | And)[], source: TypedExpression): Formula {
    const conjunctions = branches.map(partsOf)
    const shared = conjunctions[0]!.filter((part) =>
      conjunctions.every((parts) => parts.some((other) => isSame(part, other))),
    )
    if (shared.length > 0) {
      const rests = branches.map((branch) =>
        this.and(partsOf(branch).filter((part) => !shared.some((other) => isSame(part, other)))),
      )
      return this.and([...shared, this.or(rests, source)])
    }
    const part: Condition | Or = conjunctions.some(hasExpression)
      ? { kind: 'expression', expression: source }
      : { kind: 'or', branches }
    const implied = this.#impliedSets(branches).map((condition) => ({ condition, part }))
    return implied.length === 0 ? part : { kind: 'and', parts: [part], implied }
  }

  #impliedSets(branches: readonly (Condition | And)[]): Values[] {
    const [first, ...others] = branches.map((branch) => [
      ...partsOf(branch).filter(isValues),
      ...(branch.kind === 'and' ? branch.implied.map(({ condition }) => condition) : []),
    ])
    return first!.flatMap(({ column, set }) => {
      const sets = others.map((parts) => parts.find((part) => part.column === column)?.set)
      if (sets.includes(undefined)) return []
      const union = this.values(column, unionOf([set, ...sets.map((each) => each!)]))
      return typeof union === 'object' ? [union] : []
    })
  }

  /** Conditions of one column as one; undefined where one of these comes to `decisive`, which settles the whole. */
  #merge(
    conditions: readonly Values[],
    combine: (sets: readonly ValueSet[], last: bigint) => ValueSet,
    decisive: boolean,
  ): Values[] | undefined {
    const byColumn = new Map<number, ValueSet[]>()
    for (const { column, set } of conditions) {
      const sets = byColumn.get(column)
      if (sets === undefined) byColumn.set(column, [set])
      else sets.push(set)
    }
    const merged: Values[] = []
    for (const [column, sets] of byColumn) {
      const formula = this.values(column, combine(sets, lastValue(this.#columns[column]!)))
      if (formula === decisive) return undefined
      if (typeof formula === 'object') merged.push(formula)
    }
    return merged
  }
}

/** What a branch is a conjunction of. */
export function partsOf(branch: Condition | And): readonly (Condition | Or)[] {
  return branch.kind === 'and' ? branch.parts : [branch]
}

/** A branch says nothing where another one of fewer parts is true whenever it is: A ∨ (A ∧ B) is A. */
function absorbed(branches: readonly (Condition | And)[]): (Condition | And)[] {
  const weaker = branches.filter((branch): branch is Condition => branch.kind !== 'and')
  return branches.filter((branch) => {
    if (branch.kind !== 'and') return true
    return !branch.parts.some((part) => weaker.some((other) => implies(part, other)))
  })
}

function implies(part: Condition | Or, other: Condition): boolean {
  if (isValues(part) && isValues(other)) return part.column === other.column && isWithin(part.set, other.set)
  return isSame(part, other)
}

function isSame(a: Condition | And | Or, b: Condition | And | Or): boolean {
  if (a === b) return true
  if (isValues(a)) return isValues(b) && a.column === b.column && areEqual(a.set, b.set)
  if (a.kind === 'match') {
    return (
      b.kind === 'match' &&
      a.column === b.column &&
      a.match === b.match &&
      a.text === b.text &&
      a.negated === b.negated
    )
  }
  return false
}

function distinct<Part extends Condition | And | Or>(parts: readonly Part[]): Part[] {
  return parts.filter((part, i) => parts.findIndex((other) => isSame(part, other)) === i)
}

function hasExpression(parts: readonly (Condition | Or)[]): boolean {
  return parts.some((part) => part.kind === 'expression')
}

/**
 * Expressions as one: each would need a kernel of its own.
 * @returns by each what it is in now
 */
function joinedExpressions(parts: readonly (Condition | Or)[]): Map<Condition | Or, Condition> {
  const members = parts.flatMap((part) => (part.kind === 'expression' ? [part] : []))
  if (members.length === 0) return new Map()
  const expression = members.map((member) => member.expression).reduce(conjunction)
  const joined: Condition = { kind: 'expression', expression }
  return new Map(members.map((member) => [member, joined]))
}

function conjunction(a: TypedExpression, b: TypedExpression): TypedExpression {
  return { kind: 'and', args: [a, b], type: 'boolean', nullable: a.nullable || b.nullable }
}
