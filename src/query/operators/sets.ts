import { distinctTable } from '../../../gpu/relational/group/group-table.js'
import { learnFacts } from '../../../gpu/relational/order/column-facts.js'
import { neighbourOrder } from '../../../gpu/relational/order/sortedness.js'
import { concatenate } from '../../../gpu/relational/query/concatenate.js'
import { plainColumn } from '../../../gpu/relational/query/query-column.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import type { NodeOf } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import { joinTables } from './join.js'
import type { Sides } from './sides.js'
import { collect, type Tables } from './tables.js'

type SetNode = NodeOf<'union' | 'intersect' | 'except'>

/**
 * Union, intersection and difference. Rows of a side that are on the other, or are not, are those of a semi or an anti join by the key, or by all columns (Diamos et
 * al. Table 1): where both sides are in order that is a merge. With ALL a row is told from its equals by how many of these come before it.
 */
export async function* sets(run: QueryRun, node: SetNode, sides: Sides): Tables {
  const [left, right] = await sides()
  if (node.op === 'union') {
    yield await union(run, node, left, right)
    return
  }
  try {
    if (node.all) yield* ranked(run, node, left, right)
    else if (node.byKey !== undefined) yield* members(run, node, node.byKey, left, right)
    else yield await once(run, node, await gathered(run, node, allColumns(left), left, right))
  } finally {
    run.drop(left)
    run.drop(right)
  }
}

async function union(run: QueryRun, node: SetNode, left: Table, right: Table): Promise<Table> {
  const { work } = run
  const joined = (tables: readonly Table[], inputs = tables) =>
    run.step(node, inputs, () => concatenate(work, tables))
  if (node.all) return joined([left, right])
  if (node.byKey !== undefined) {
    const others = await gathered(run, node, node.byKey, right, left)
    return joined([left, others], [left, right, others])
  }
  // Of columns of relations this is known from then on.
  await learnFacts(work, [left, right])
  if (neighbourOrder(work, left) === undefined || neighbourOrder(work, right) === undefined) {
    return once(run, node, await run.replace(node, [left, right], () => concatenate(work, [left, right])))
  }
  const first = await run.replace(node, [left], async () => (await distinctTable(work, left)).table)
  const others = await gathered(run, node, allColumns(left), right, first)
  const inputs = [right, others]
  const second = await run.replace(node, inputs, async () => (await distinctTable(work, others)).table)
  return joined([first, second])
}

/** As many of equal rows as there are on both sides, or as there are more on the left. */
async function* ranked(run: QueryRun, node: SetNode, left: Table, right: Table): Tables {
  const [first, second] = [await withRanks(run, node, left), await withRanks(run, node, right)]
  for await (const table of members(run, node, allColumns(first), first, second)) {
    yield await run.replace(node, [table], () => table.choose(allColumns(left)))
  }
  run.drop(first)
  run.drop(second)
}

/** A table, and for each of its rows how many that are equal come before it. */
function withRanks(run: QueryRun, node: SetNode, table: Table): Promise<Table> {
  const { work } = run
  const { groupStarts } = work.kernels
  return run.replace(node, [table], async () => {
    const groups = await groupStarts.find(work, table)
    const values = groupStarts.place(work, groups, table.rows, 'rank')
    return table.choose([...allColumns(table), plainColumn('u32', values)])
  })
}

/** Each row of a table once, as the node's result. */
function once(run: QueryRun, node: SetNode, table: Table): Promise<Table> {
  return run.step(node, [table], async () => {
    const { table: rows, method } = await distinctTable(run.work, table)
    const figures = run.figures(node)
    figures.method = figures.method === undefined ? method : `${figures.method}, then ${method}`
    return rows
  })
}

/** Rows of a table by whose key there are rows of another, or, unless the node is an intersection, are none. */
function members(run: QueryRun, node: SetNode, key: readonly number[], table: Table, other: Table): Tables {
  const condition = { pairs: key.map((column) => [column, column] as const), width: undefined }
  const kind = node.op === 'intersect' ? 'semi' : 'anti'
  const nullsEqual = node.byKey === undefined
  return joinTables(run, node, { condition, algorithm: 'auto', kind, nullsEqual }, table, other)
}

/** All of them, which are not the node's result yet. */
async function gathered(
  run: QueryRun,
  node: SetNode,
  key: readonly number[],
  table: Table,
  other: Table,
): Promise<Table> {
  const found = await collect(run, node, members(run, node, key, table, other))
  Object.assign(run.figures(node), { rows: 0, steps: 0 })
  return found
}

function allColumns({ columns }: Table): number[] {
  return [...columns.keys()]
}
