/*
 * What of DuckDB's plans is read, as `json_serialize_plan` writes them.
 */

/** A whole number, as a text where it has more than 15 digits; NaN and infinities are texts, too. */
export type PlanNumber = number | string

export interface PlanType {
  readonly id: string
  readonly type_info?: { readonly width?: number; readonly scale?: number } | null
}

export interface PlanInterval {
  readonly months: number
  readonly days: number
  readonly micros: PlanNumber
}

/** `upper` and `lower` are the halves of 128 bits. */
export type PlanScalar =
  | boolean
  | PlanNumber
  | { readonly upper: PlanNumber; readonly lower: PlanNumber }
  | PlanInterval
  | null

export interface PlanValue {
  readonly type: PlanType
  readonly is_null: boolean
  readonly value?: PlanScalar
}

export type PlanExpression = { readonly return_type: PlanType } & (
  | { readonly expression_class: 'BOUND_REF'; readonly index: number }
  | { readonly expression_class: 'BOUND_CONSTANT'; readonly value: PlanValue }
  | {
      readonly expression_class: 'BOUND_COMPARISON'
      readonly type: string
      readonly left: PlanExpression
      readonly right: PlanExpression
    }
  | {
      readonly expression_class: 'BOUND_CONJUNCTION'
      readonly type: string
      readonly children: readonly PlanExpression[]
    }
  | {
      readonly expression_class: 'BOUND_OPERATOR'
      readonly type: string
      readonly children: readonly PlanExpression[]
    }
  | {
      readonly expression_class: 'BOUND_FUNCTION'
      readonly name: string
      readonly children: readonly PlanExpression[]
    }
  | PlanAggregate
  | { readonly expression_class: 'BOUND_CAST'; readonly try_cast: boolean; readonly child: PlanExpression }
  | {
      readonly expression_class: 'BOUND_CASE'
      readonly case_checks: readonly {
        readonly when_expr: PlanExpression
        readonly then_expr: PlanExpression
      }[]
      readonly else_expr: PlanExpression
    }
  | {
      readonly expression_class: 'BOUND_BETWEEN'
      readonly input: PlanExpression
      readonly lower: PlanExpression
      readonly upper: PlanExpression
      readonly lower_inclusive: boolean
      readonly upper_inclusive: boolean
    }
)

export interface PlanAggregate {
  readonly expression_class: 'BOUND_AGGREGATE'
  readonly return_type: PlanType
  readonly name: string
  readonly children: readonly PlanExpression[]
  readonly aggregate_type: string
  readonly filter?: PlanExpression | null
  readonly order_bys?: unknown
}

export interface PlanCondition {
  readonly left: PlanExpression
  readonly right: PlanExpression
  readonly comparison: string
}

export interface PlanOrder {
  readonly type: string
  readonly null_order: string
  readonly expression: PlanExpression
}

export interface PlanBound {
  readonly type: string
  readonly constant_integer: PlanNumber
}

/** A node; fields are those of its operator. Lists may be left out where they are empty. */
export interface PlanNode {
  readonly type: string
  readonly children: readonly PlanNode[]
  readonly expressions?: readonly PlanExpression[]
  readonly table_index?: number
  /** Of a GET. */
  readonly name?: string
  readonly column_indexes?: readonly { readonly index: PlanNumber }[]
  readonly projection_ids?: readonly number[]
  readonly table_filters?: { readonly filters?: readonly unknown[] }
  /** Of filters, orders and joins: which columns are given. */
  readonly projection_map?: readonly number[]
  readonly left_projection_map?: readonly number[]
  readonly right_projection_map?: readonly number[]
  readonly groups?: readonly PlanExpression[]
  readonly grouping_sets?: readonly (readonly number[])[]
  readonly grouping_functions?: readonly unknown[]
  readonly join_type?: string
  readonly conditions?: readonly PlanCondition[]
  readonly condition?: PlanExpression
  readonly predicate?: PlanExpression | null
  readonly duplicate_eliminated_columns?: readonly PlanExpression[]
  readonly delim_flipped?: boolean
  readonly chunk_types?: readonly PlanType[]
  readonly collection?: {
    readonly types: readonly PlanType[]
    readonly values: readonly (readonly PlanValue[])[]
  }
  readonly expr_types?: readonly PlanType[]
  readonly return_types?: readonly PlanType[]
  readonly cte_index?: number
  readonly setop_all?: boolean
  readonly distinct_type?: string
  readonly orders?: readonly PlanOrder[]
  /** Of a TOP_N. */
  readonly limit?: PlanNumber
  readonly offset?: PlanNumber
  readonly limit_val?: PlanBound
  readonly offset_val?: PlanBound
}

/** Texts, and numbers that `JSON.parse` would round or does not know. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity|\d[\d.eE+-]*)/g
const LONG = /^-?\d{16,}$/

/** Reads the one plan of a statement; undefined where there are several. */
export function parsePlan(json: string): PlanNode | undefined {
  const safe = json.replace(TOKENS, (token) =>
    token.startsWith('"') || (!LONG.test(token) && !/[NI]/.test(token)) ? token : `"${token}"`,
  )
  const { plans } = JSON.parse(safe)
  return plans.length === 1 ? plans[0] : undefined
}
