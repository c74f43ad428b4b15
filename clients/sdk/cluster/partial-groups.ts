import type { Aggregate, Expression, NamedExpression, QueryNode } from '../../../protocol/query/tree.js'

/** Groups that are made of groups of parts of the rows. */
export interface SplitGroups {
  /** Groups of a part, under names of their own. */
  readonly partial: QueryNode
  /** The groups of all rows. @param gathered gives those of all parts */
  readonly merged: (gathered: QueryNode) => QueryNode
}

/** How an aggregate follows from such of parts of the rows. */
interface SplitAggregate {
  readonly partial: readonly Aggregate[]
  readonly merged: readonly Aggregate[]
  readonly value: Expression
}

/**
 * @param input rows of a part
 * @param isNullable whether an aggregate may be null, by its number
 * @returns undefined where an aggregate needs all rows in one place
 */
export function splitGroups(
  { keys, aggregates }: Extract<QueryNode, { op: 'groupBy' }>,
  input: QueryNode,
  isNullable: (aggregate: number) => boolean,
): SplitGroups | undefined {
  const split = aggregates.map((aggregate, i) => splitAggregate(aggregate, `partial ${i}`, isNullable(i)))
  const whole = split.filter((each) => each !== undefined)
  if (whole.length < split.length) return undefined
  const partialKeys = keys.map(({ value }, i): NamedExpression => ({ name: keyName(i), value }))
  const mergedKeys = keys.map(
    (_, i): NamedExpression => ({ name: keyName(i), value: { column: keyName(i) } }),
  )
  return {
    partial: { op: 'groupBy', input, keys: partialKeys, aggregates: whole.flatMap(({ partial }) => partial) },
    merged: (gathered) => ({
      op: 'project',
      input: {
        op: 'groupBy',
        input: gathered,
        keys: mergedKeys,
        aggregates: whole.flatMap(({ merged }) => merged),
      },
      columns: [
        ...keys.map(({ name }, i) => ({ name, value: { column: keyName(i) } })),
        ...aggregates.map(({ name }, i) => ({ name, value: whole[i]!.value })),
      ],
    }),
  }
}

function keyName(i: number): string {
  return `key ${i}`
}

function splitAggregate(
  { function: fn, value, distinct }: Aggregate,
  name: string,
  isNullable: boolean,
): SplitAggregate | undefined {
  if (distinct === true && fn !== 'min' && fn !== 'max') return undefined
  const summed: Aggregate = { name, function: 'sum', value: { column: name } }
  switch (fn) {
    case 'count':
      return { partial: [{ name, function: 'count', value }], merged: [summed], value: countOf(name) }
    case 'sum':
      return { partial: [{ name, function: fn, value }], merged: [summed], value: { column: name } }
    case 'min':
    case 'max': {
      const merged: Aggregate = { name, function: fn, value: { column: name } }
      return { partial: [{ name, function: fn, value }], merged: [merged], value: { column: name } }
    }
    case 'avg': {
      const count = `${name} count`
      const quotient: Expression = {
        op: '/',
        args: [cast({ column: name }, 'f64'), cast({ column: count }, 'f64')],
      }
      return {
        partial: [
          { name, function: 'sum', value },
          { name: count, function: 'count', value },
        ],
        merged: [summed, { name: count, function: 'sum', value: { column: count } }],
        value: isNullable ? quotient : { op: 'coalesce', args: [quotient, { value: 0 }] },
      }
    }
    default:
      return undefined
  }
}

/** A count is 0 where there are no rows, of which there is no sum. */
function countOf(column: string): Expression {
  return cast({ op: 'coalesce', args: [{ column }, { value: 0 }] }, 'u32')
}

function cast(value: Expression, type: 'f64' | 'u32'): Expression {
  return { op: 'cast', args: [value], type }
}
