import {
  areEqual,
  intersectionOf,
  isEmpty,
  isWithin,
  unionOf,
  withoutNulls,
} from '../../../gpu/relational/expressions/value-sets.js'
import type { Condition, ValueSet } from '../../../gpu/relational/selection/selection-types.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import { type ColumnDomain, isTautology, lastValue } from './column-domain.js'

/** When an expression is true, in two values, since null has been seen to at the leaves: where some conditions are, or, undefined, never. */
export type Formula = Conjunction | undefined

/** All conditions are true. What they imply is kept apart: it may be cheaper to look at first, and need not be looked at. */
export interface Conjunction {
  readonly conditions: readonly Condition[]
  readonly implied: readonly { readonly condition: Values; readonly by: Condition }[]
}

export type Values = Extract<Condition, { kind: 'values' }>

export const ALWAYS: Conjunction = { conditions: [], implied: [] }

/** True where one condition is. */
export function only(condition: Condition): Conjunction {
  return { conditions: [condition], implied: [] }
}

export function isValues(condition: Condition): condition is Values {
  return condition.kind === 'values'
}

/** Puts formulas over some columns together, in as simple a form as it can. */
export class FormulaBuilder {
  readonly #columns: readonly ColumnDomain[]

  constructor(columns: readonly ColumnDomain[]) {
    this.#columns = columns
  }

  values(column: number, set: ValueSet): Formula {
    const domain = this.#columns[column]!
    const own = domain.nullable ? set : withoutNulls(set)
    if (isEmpty(own)) return undefined
    return isTautology(own, domain) ? ALWAYS : only({ kind: 'values', column, set: own })
  }

  and(formulas: readonly Formula[]): Formula {
    const parts = formulas.flatMap((formula) => formula ?? [])
    const all = parts.flatMap(({ conditions }) => conditions)
    const merged = this.#merged(all, intersectionOf)
    if (parts.length < formulas.length || merged.includes(undefined)) return undefined
    const expressions = joinedExpressions(all)
    const others = all.filter((condition) => !isValues(condition) && !expressions.has(condition))
    return {
      conditions: [
        ...merged.flatMap((formula) => formula!.conditions),
        ...others.filter((other, i) => others.findIndex((each) => implies(each, other)) === i),
        ...new Set(expressions.values()),
      ],
      implied: parts.flatMap(({ implied }) =>
        implied.map(({ condition, by }) => ({ condition, by: expressions.get(by) ?? by })),
      ),
    }
  }

  /** @param source the same in the words of the query, for what has to be evaluated as it is */
  or(formulas: readonly Formula[], source: TypedExpression): Formula {
    const values: Condition[] = []
    const others: Conjunction[] = []
    for (const branch of formulas.flatMap(branchesOf)) {
      const alone = conditionAlone(branch)
      if (alone !== undefined && isValues(alone)) values.push(alone)
      else others.push(branch)
    }
    const merged = this.#merged(values, unionOf).flatMap((formula) => formula ?? [])
    const left = absorbed([...merged, ...others])
    return left.length > 1 ? this.#factored(left, source) : left[0]
  }

  /** (A ∧ B) ∨ (A ∧ C) is A ∧ (B ∨ C); and of columns that all branches restrict the union of their sets is implied. */
  #factored(branches: readonly Conjunction[], source: TypedExpression): Formula {
    const shared = branches[0]!.conditions.filter((condition) =>
      branches.every(({ conditions }) => conditions.some((other) => isSame(condition, other))),
    )
    if (shared.length > 0) {
      const rests = branches.map(({ conditions }): Conjunction => {
        const rest = conditions.filter((condition) => !shared.some((other) => isSame(condition, other)))
        return { conditions: rest, implied: [] }
      })
      return this.and([{ conditions: shared, implied: [] }, this.or(rests, source)])
    }
    const hasExpression = branches.some(({ conditions }) => conditions.some(isExpression))
    const by: Condition = hasExpression
      ? { kind: 'expression', expression: source }
      : { kind: 'any', branches: branches.map(({ conditions }) => conditions) }
    const implied = this.#impliedSets(branches).map((condition) => ({ condition, by }))
    return { conditions: [by], implied }
  }

  #impliedSets(branches: readonly Conjunction[]): Values[] {
    const [first, ...others] = branches.map(({ conditions, implied }) => [
      ...conditions.filter(isValues),
      ...implied.map(({ condition }) => condition),
    ])
    return first!.flatMap(({ column, set }) => {
      const sets = others.map((parts) => parts.find((part) => part.column === column)?.set)
      if (sets.includes(undefined)) return []
      const union = this.values(column, unionOf([set, ...sets.map((each) => each!)]))
      return union?.conditions.filter(isValues) ?? []
    })
  }

  /** Conditions on values, those of one column as one. */
  #merged(
    conditions: readonly Condition[],
    combine: (sets: readonly ValueSet[], last: bigint) => ValueSet,
  ): Formula[] {
    const byColumn = new Map<number, ValueSet[]>()
    for (const { column, set } of conditions.filter(isValues)) {
      getOrInsert(byColumn, column, () => []).push(set)
    }
    return Array.from(byColumn, ([column, sets]) =>
      this.values(column, combine(sets, lastValue(this.#columns[column]!))),
    )
  }
}

/** The one condition that a conjunction consists of, if it is one. */
function conditionAlone({ conditions, implied }: Conjunction): Condition | undefined {
  return conditions.length === 1 && implied.length === 0 ? conditions[0] : undefined
}

/** What a formula is a disjunction of. */
function branchesOf(formula: Formula): Conjunction | Conjunction[] {
  if (formula === undefined) return []
  const alone = conditionAlone(formula)
  if (alone?.kind !== 'any') return formula
  return alone.branches.map((conditions) => ({ conditions, implied: [] }))
}

/** A ∨ (A ∧ B) is A, as is A ∨ A. */
function absorbed(branches: readonly Conjunction[]): Conjunction[] {
  const always = branches.find(({ conditions }) => conditions.length === 0)
  if (always !== undefined) return [always]
  const weaker = branches.filter(({ conditions }) => conditions.length === 1)
  const follows = (from: Conjunction, { conditions }: Conjunction) =>
    conditions.every((condition) => from.conditions.some((own) => implies(own, condition)))
  return branches.filter((branch) => {
    const first = weaker.find((other) => other === branch || follows(branch, other))
    return first === undefined || first === branch
  })
}

function implies(stronger: Condition, weaker: Condition): boolean {
  if (!isValues(stronger) || !isValues(weaker)) return isSame(stronger, weaker)
  return stronger.column === weaker.column && isWithin(stronger.set, weaker.set)
}

function isSame(a: Condition, b: Condition): boolean {
  if (a === b) return true
  if (isValues(a)) return isValues(b) && a.column === b.column && areEqual(a.set, b.set)
  if (a.kind !== 'match' || b.kind !== 'match') return false
  return a.column === b.column && a.match === b.match && a.text === b.text && a.negated === b.negated
}

function isExpression(condition: Condition): condition is Extract<Condition, { kind: 'expression' }> {
  return condition.kind === 'expression'
}

/**
 * Expressions among conditions as one: each would need a kernel of its own.
 * @returns by each what it is in
 */
function joinedExpressions(conditions: readonly Condition[]): Map<Condition, Condition> {
  const members = conditions.filter(isExpression)
  if (members.length === 0) return new Map()
  const expression = members.map((member) => member.expression).reduce(conjunction)
  const joined: Condition = { kind: 'expression', expression }
  return new Map(members.map((member) => [member, joined]))
}

function conjunction(a: TypedExpression, b: TypedExpression): TypedExpression {
  return { kind: 'and', args: [a, b], type: 'boolean', nullable: a.nullable || b.nullable }
}
