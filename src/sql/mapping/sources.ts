import type { ColumnType } from '../../../protocol/column-types.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { functionOf } from '../mirror.js'
import type { PlanExpression, PlanNode } from '../plan-json.js'
import { constantOf } from './constants.js'
import { mapExpression } from './expressions.js'
import { chosen, type Mapped, type Mapping, refused } from './mapping.js'
import { columnTypeOf } from './types.js'

/** Rows of constants that a statement may have: each is an operator or two of the tree. */
const MOST_ROWS = 32

/** GET: a relation's columns. */
export function mapGet(node: PlanNode, mapping: Mapping): Mapped {
  const { name = '', column_indexes = [], projection_ids, table_filters } = node
  const relation = mapping.catalogue.find((each) => functionOf(each) === name)
  if (relation === undefined) throw refused(`reading from ${name}`, 'statements read relations')
  if ((table_filters?.filters?.length ?? 0) > 0) throw refused('a filter within a scan')
  const as = mapping.freshName()
  const columns = column_indexes.map(({ index }): Expression => {
    const column = relation.columns[Number(index)]
    // Columns past the last stand for rows that only count.
    return column === undefined ? { value: 1 } : { column: `${as}.${column.name}` }
  })
  return chosen({ node: { op: 'scan', relation: relation.name, as }, columns }, projection_ids)
}

/** DUMMY_SCAN: one row without columns. */
export function mapDummy(_node: PlanNode, mapping: Mapping): Mapped {
  const input: QueryNode = { op: 'limit', input: anyRelation(mapping), rows: 0 }
  const aggregates = [{ name: mapping.freshName(), function: 'count' }] as const
  return { node: { op: 'groupBy', input, keys: [], aggregates }, columns: [] }
}

/** EMPTY_RESULT: columns without rows. */
export function mapEmpty({ return_types = [] }: PlanNode, mapping: Mapping): Mapped {
  const columns = return_types.map((type) => ({ value: null, type: columnTypeOf(type) }))
  return { node: { op: 'limit', input: anyRelation(mapping), rows: 0 }, columns }
}

/** CHUNK_GET and EXPRESSION_GET: rows of constants. */
export function mapRows(node: PlanNode, mapping: Mapping): Mapped {
  const types = (node.collection?.types ?? node.expr_types ?? []).map(columnTypeOf)
  const rows = node.collection === undefined ? listedRows(node) : chunkRows(node)
  if (rows.length === 0) return mapEmpty({ ...node, return_types: node.collection?.types ?? [] }, mapping)
  if (rows.length > MOST_ROWS) {
    throw refused(
      `a table of ${rows.length} rows of constants`,
      `${MOST_ROWS} are; more are best kept as a relation`,
    )
  }
  const names = types.map(() => mapping.freshName())
  const node0 = rows
    .map((row) => rowOf(row, types, names, mapping))
    .reduce((left, right): QueryNode => ({ op: 'union', left, right, all: true }))
  return { node: node0, columns: names.map((column) => ({ column })) }
}

function rowOf(
  row: readonly Expression[],
  types: readonly ColumnType[],
  names: readonly string[],
  mapping: Mapping,
): QueryNode {
  const columns = row.map((value, i): { name: string; value: Expression } => ({
    name: names[i]!,
    value: { op: 'cast', args: [value], type: types[i]! },
  }))
  return { op: 'project', input: mapDummy({ type: '', children: [] }, mapping).node, columns }
}

/** The constants of a CHUNK_GET, row by row: it has them by columns. */
export function chunkRows({ collection }: PlanNode): readonly (readonly Expression[])[] {
  const columns = collection?.values ?? []
  return (columns[0] ?? []).map((_, row) => columns.map((values) => constantOf(values[row]!)))
}

function listedRows({ expressions = [] }: PlanNode): readonly (readonly Expression[])[] {
  // Here a list of expressions is a list of rows.
  const rows = expressions as readonly unknown[] as readonly (readonly PlanExpression[])[]
  return rows.map((row) => row.map((value) => mapExpression(value, [])))
}

/** The smallest relation: what has no rows of its own has it none the less as its source. */
function anyRelation({ catalogue }: Mapping): QueryNode {
  const [first, ...others] = catalogue
  if (first === undefined) throw refused('a SELECT where there is no relation')
  const least = others.reduce((least, other) => (other.rows < least.rows ? other : least), first)
  return { op: 'scan', relation: least.name }
}
