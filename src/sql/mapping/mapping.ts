import { badRequest, toWarpdexError, type WarpdexError } from '../../../protocol/errors.js'
import { checkQuery } from '../../../protocol/query/check-query.js'
import { takeLists } from '../../../protocol/query/pack-query.js'
import type { Expression, QueryNode, ResultColumn } from '../../../protocol/query/tree.js'
import type { MirroredRelation } from '../catalogue.js'
import type { PlanNode } from '../plan-json.js'

/** What an operator of a plan has become: a node of our tree, and what each of the operator's columns is over the node's. */
export interface Mapped {
  readonly node: QueryNode
  readonly columns: readonly Expression[]
}

/** Parts of an expression that is computed where it is used; of a larger one the result is kept in a column. */
const MOST_INLINE = 16

/** One statement on its way to a tree. */
export class Mapping {
  readonly catalogue: readonly MirroredRelation[]
  /** What common table expressions are, by their numbers. */
  readonly ctes = new Map<number, Mapped>()
  /** Of the correlated subqueries that are being mapped, the values of outer columns; the innermost comes last. */
  readonly outer: Mapped[] = []
  /** Maps an operator, whatever it is. */
  readonly map: (node: PlanNode) => Mapped
  readonly #schemas: ReadonlyMap<string, readonly ResultColumn[]>
  #names = 0

  constructor(catalogue: readonly MirroredRelation[], map: (node: PlanNode, mapping: Mapping) => Mapped) {
    this.catalogue = catalogue
    this.#schemas = new Map(catalogue.map(({ name, columns }) => [name, columns]))
    this.map = (node) => map(node, this)
  }

  /** A name that nothing has yet. */
  freshName(): string {
    return `c${this.#names++}`
  }

  /**
   * The types of expressions over a node, and whether they may be null.
   * @throws WarpdexError `BAD_REQUEST` for what the device cannot do
   */
  resultOf(node: QueryNode, values: readonly Expression[]): readonly ResultColumn[] {
    if (values.length === 0) return []
    const columns = values.map((value, i) => ({ name: `v${i}`, value }))
    const { query, lists } = takeLists({ op: 'project', input: node, columns })
    try {
      return checkQuery(query, (name) => this.#schemas.get(name)!, lists).columns
    } catch (error) {
      throw withoutPath(error)
    }
  }

  /** The same rows in a node that has nothing but the columns, each by a name of its own. */
  exact(mapped: Mapped): Mapped {
    const names = mapped.columns.map(() => this.freshName())
    const columns = mapped.columns.map((value, i) => ({ name: names[i]!, value }))
    const node: QueryNode = { op: 'project', input: mapped.node, columns }
    return { node, columns: names.map((column) => ({ column })) }
  }

  /** The same rows, with expressions that take some computing in columns of the node. */
  settled(mapped: Mapped): Mapped {
    return mapped.columns.every((column) => partsOf(column) <= MOST_INLINE) ? mapped : this.exact(mapped)
  }

  /**
   * The same rows in a node that has some expressions as columns, too.
   * @returns the names of these
   */
  withColumns(mapped: Mapped, values: readonly Expression[]): { mapped: Mapped; names: readonly string[] } {
    const names = values.flatMap((value) => ('column' in value ? [value.column] : []))
    if (names.length === values.length) return { mapped, names }
    const all = this.exact({ node: mapped.node, columns: [...mapped.columns, ...values] })
    const columns = all.columns.slice(0, mapped.columns.length)
    const added = all.columns.slice(columns.length)
    return {
      mapped: { node: all.node, columns },
      names: added.flatMap((value) => ('column' in value ? [value.column] : [])),
    }
  }
}

/** A node's rows of which a condition is true. */
export function whereAll({ node, columns }: Mapped, conditions: readonly Expression[]): Mapped {
  if (conditions.length === 0) return { node, columns }
  return { node: { op: 'where', input: node, condition: conjunction(conditions) }, columns }
}

/** Some conditions as one. */
export function conjunction(conditions: readonly Expression[]): Expression {
  return conditions.length === 1 ? conditions[0]! : { op: 'and', args: conditions }
}

/** Some of the columns, by their numbers; all if there are no numbers. */
export function chosen(mapped: Mapped, numbers: readonly number[] | undefined): Mapped {
  if (numbers === undefined || numbers.length === 0) return mapped
  return { node: mapped.node, columns: numbers.map((number) => mapped.columns[number]!) }
}

/** What the device, or this mapping, does not do. */
export function refused(what: string, instead?: string): WarpdexError {
  return badRequest(
    `sql: ${what} ${instead === undefined ? 'is not supported' : `is not supported; ${instead}`}`,
  )
}

/** The message of a fault in the tree without the way to it, which says nothing to who wrote a statement. */
function withoutPath(thrown: unknown): WarpdexError {
  const error = toWarpdexError(thrown)
  const message = error.message.replace(/^query[\w.[\]]*: /, '')
  return error.code === 'BAD_REQUEST' && message !== error.message
    ? badRequest(`sql: ${message}`, { cause: error })
    : error
}

/** How many parts an expression has; some number above `MOST_INLINE` where it is large. */
function partsOf(expression: Expression): number {
  if ('column' in expression || 'value' in expression) return 1
  const parts =
    expression.op === 'case'
      ? [
          ...expression.when.flatMap(({ condition, value }) => [condition, value]),
          ...(expression.otherwise === undefined ? [] : [expression.otherwise]),
        ]
      : expression.args
  let sum = 1
  for (const part of parts) {
    sum += partsOf(part)
    if (sum > MOST_INLINE) break
  }
  return sum
}
