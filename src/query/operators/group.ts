import {
  type GroupedAtOnce,
  type Grouping,
  groupTable,
  groupWhere,
} from '../../../gpu/relational/group/group-table.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import { aligned } from '../../../protocol/columns.js'
import {
  argumentsOf,
  columnsRead,
  mapColumns,
  type NodeOf,
  type TypedExpression,
  type TypedNode,
} from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import { collect, type Tables } from './tables.js'
import { where } from './where.js'

/**
 * A row for each group. Rows that are chosen from a relation are grouped in the pass that chooses them, where that can be.
 * @param execute gives an input's tables, of which all columns are read
 */
export async function* group(
  run: QueryRun,
  node: NodeOf<'groupBy'>,
  execute: (input: TypedNode) => Tables,
): Tables {
  const { input } = node
  const hasMarks = node.aggregates.some(({ rows }) => rows !== undefined)
  if (input.op !== 'where' || run.shared.has(input) || hasMarks || !goesWithGroups(run, input)) {
    yield groups(run, node, await collect(run, input, execute(input)))
    return
  }
  const table = await collect(run, input.input, execute(input.input))
  const filtered = await run.measure(node, () => groupFiltered(run, node, input, table))
  if (filtered !== undefined) yield run.step(node, [table], () => filtered)
  else yield groups(run, node, await collect(run, input, where(run, input, only(table), 'whole')))
}

function groups(run: QueryRun, node: NodeOf<'groupBy'>, table: Table): Promise<Table> {
  return run.step(node, [table], async () => {
    const { table: groups, method } = await groupTable(run.work, table, node)
    run.figures(node).method = method
    run.watchFaults(node)
    return groups
  })
}

/** The groups of those rows of a table that a `where` gives. */
async function groupFiltered(
  run: QueryRun,
  node: NodeOf<'groupBy'>,
  filter: NodeOf<'where'>,
  table: Table,
): Promise<Table | undefined> {
  const grouped = await groupWhere(
    run.work,
    { table, condition: filter.condition },
    beforeFilter(node, filter),
  )
  if (grouped === undefined) return undefined
  run.watchFaults(node)
  run.figures(node).method = grouped.method
  const figures = run.figures(filter)
  figures.method = 'in the pass that groups'
  figures.steps++
  if (run.isTimed) figures.rows += await sumOf(run, grouped.rows)
  return grouped.table
}

async function sumOf({ work }: QueryRun, { values, count }: GroupedAtOnce['rows']): Promise<number> {
  const [bytes] = await work.readColumns([{ buffer: values, bytes: 4 * count }])
  return aligned(bytes!, Uint32Array).reduce((sum, rows) => sum + rows, 0)
}

/** What is asked of groups, over the columns that a `where` is given. */
function beforeFilter({ keys, aggregates }: NodeOf<'groupBy'>, { kept }: NodeOf<'where'>): Grouping {
  const renumbered = (expression: TypedExpression) => mapColumns(expression, (column) => kept[column]!)
  return {
    keys: keys.map(renumbered),
    aggregates: aggregates.map(({ function: fn, value }) => ({
      function: fn,
      value: value && renumbered(value),
    })),
  }
}

/** Strings of a column that may be looked through for a text, for one query. */
const MOST_MATCHED = 1024

/** Whether rows may be chosen while they are grouped: from all of a relation, by a condition for which there is neither an index nor a kernel of its own. */
function goesWithGroups(run: QueryRun, { input, condition }: NodeOf<'where'>): boolean {
  if (input.op !== 'scan') return false
  const relation = run.relations.get(input.relation)
  if (relation === undefined) return false
  const columns = [...relation.columns]
  const read = columnsRead(condition).map((column) => columns[input.kept[column]!]!)
  const isIndexed = relation.indexes?.some(({ columns: [first] }) => read.some(([name]) => name === first))
  const isMatched =
    hasMatch(condition) && read.some(([, { dictionary }]) => (dictionary?.size ?? 0) > MOST_MATCHED)
  return !isIndexed && !isMatched
}

function hasMatch(expression: TypedExpression): boolean {
  return expression.kind === 'match' || argumentsOf(expression).some(hasMatch)
}

async function* only(table: Table): Tables {
  yield table
}
