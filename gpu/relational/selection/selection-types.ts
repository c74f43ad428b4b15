import type { MatchKind } from '../../../protocol/query/tree.js'
import { columnsRead, type TypedExpression } from '../../../protocol/query/typed.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { ValueSet } from '../expressions/value-sets.js'
import type { QueryColumn } from '../query/query-column.js'

export type { ColumnWidth, SelectionCosts } from '../../../protocol/query/selection-costs.js'
export type { Interval, ValueSet } from '../expressions/value-sets.js'

/**
 * A condition on rows. Columns are numbers among those that are given with it.
 *
 * - `values`: the column's value is in a set; all comparisons of one column with constants come to this.
 * - `match`: the column's string matches a text, found by looking at its bytes: the expensive predicate of Sitaridi and Ross §3.2.
 *   A null satisfies neither it nor its opposite. Strings that begin with a text are a set of values.
 * - `any`: all conditions of some branch are satisfied.
 * - `expression`: anything else. A row that is a fault satisfies it if it may be true, and is told of by `DeviceWork.faults`.
 */
export type Condition =
  | { readonly kind: 'values'; readonly column: number; readonly set: ValueSet }
  | {
      readonly kind: 'match'
      readonly column: number
      readonly match: Exclude<MatchKind, 'startsWith'>
      readonly text: string
      readonly negated: boolean
    }
  | { readonly kind: 'any'; readonly branches: readonly (readonly Condition[])[] }
  | { readonly kind: 'expression'; readonly expression: TypedExpression }

/** Numbers of the columns that a condition looks at, each as often as it does. */
export function columnsOf(condition: Condition): number[] {
  switch (condition.kind) {
    case 'any':
      return condition.branches.flat().flatMap(columnsOf)
    case 'expression':
      return columnsRead(condition.expression)
    default:
      return [condition.column]
  }
}

/**
 * One kernel of a plan (Sitaridi and Ross §3.1): numbers of conditions in the order in which they are evaluated. Those of a group are all
 * evaluated (`&`); between groups a row that has failed goes no further (`&&`). S211 is `[[0, 1], [2], [3]]`.
 */
export interface KernelPlan {
  readonly groups: readonly (readonly number[])[]
  /**
   * What it hands to the next kernel (§3.2): numbers of rows, or the values of the columns that are still needed, with
   * the numbers if the output needs them. Of the last kernel it says nothing.
   */
  readonly hands: 'rows' | 'columns'
}

/** Kernels one after the other; K21 has two, of which the first evaluates two conditions. */
export interface SelectionPlan {
  readonly kernels: readonly KernelPlan[]
}

/** What is wanted of the rows that satisfy all conditions: how many they are, their numbers, or the values of columns. */
export type SelectionOutput =
  | { readonly kind: 'count' }
  | { readonly kind: 'rows' }
  | { readonly kind: 'columns'; readonly columns: readonly number[] }

/** What a selection ran over and gave. */
export interface Selected {
  readonly count: number
  /** Numbers of rows in the order in which the selection came to them, ascending unless it began from rows (`StartRows`) that are not; of the output `rows`. */
  readonly rows: DeviceMemory | undefined
  /** Of the output `columns`, in its order. */
  readonly columns: readonly QueryColumn[]
  /** Rows that each kernel of the plan left. */
  readonly left: readonly number[]
}
