import { concatenate } from '../../gpu/relational/query/concatenate.js'
import { evaluateExpression } from '../../gpu/relational/query/expressions.js'
import { Table } from '../../gpu/relational/query/table.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { TypedNode } from '../../protocol/query/typed.js'
import { joinTables } from './join-tables.js'
import type { NodeOf } from './node-of.js'
import type { QueryRun } from './query-run.js'
import { type Reading, selectTable } from './selection/select-table.js'
import { combineTables, distinctTable, groupTable, orderTable } from './whole-input.js'

/** Tables of a node's result, one at least, each held by the run: whoever takes it drops it. All are of the same columns. */
export type Tables = AsyncGenerator<Table, void, undefined>

/**
 * Executes a checked tree. What streams (where, project, limit, product) hands on a table at a time, so that whoever reads slowly, or not to the
 * end, holds up the steps before; the others take all of their input first.
 *
 * @param reading what becomes of the tables
 */
export function execute(run: QueryRun, node: TypedNode, reading: Reading = 'unknown'): Tables {
  switch (node.op) {
    case 'scan':
      return scan(run, node)
    case 'where':
      return where(run, node, reading)
    case 'project':
      return project(run, node)
    case 'limit':
      return limit(run, node)
    case 'product':
      return product(run, node)
    case 'join':
      return join(run, node)
    case 'union':
    case 'intersect':
    case 'except':
      return node.byKey === undefined ? combine(run, node) : combineByKey(run, node, node.byKey)
    case 'distinct':
      return whole(run, node, (table) => distinctTable(run.work, table))
    case 'groupBy':
      return whole(run, node, (table) => groupTable(run.work, node, table))
    case 'orderBy':
      return whole(run, node, (table) => orderTable(run.work, node, table))
  }
}

async function* scan(run: QueryRun, node: NodeOf<'scan'>): Tables {
  const relation = run.relations.get(node.relation)
  if (relation === undefined) throw new WarpdexError('INTERNAL', `relation "${node.relation}" is not at hand`)
  yield await run.step(node, [], () => Table.ofRelation(relation).choose(node.kept))
}

async function* where(run: QueryRun, node: NodeOf<'where'>, reading: Reading): Tables {
  for await (const table of execute(run, node.input)) {
    yield await run.step(node, [table], async () => {
      const selected = await selectTable(run, node, table, reading)
      await run.checkFaults(node)
      return selected
    })
  }
}

async function* project(run: QueryRun, node: NodeOf<'project'>): Tables {
  for await (const table of execute(run, node.input)) {
    yield await run.step(node, [table], async () => {
      const columns = node.values.map((value) =>
        value.kind === 'column'
          ? table.columns[value.index]!
          : { source: evaluateExpression(run.work, table, value), rows: undefined },
      )
      await run.checkFaults(node)
      return new Table(table.rows, columns)
    })
  }
}

async function* limit(run: QueryRun, node: NodeOf<'limit'>): Tables {
  let toSkip = node.offset
  let left = node.rows
  for await (const table of execute(run, node.input)) {
    const skipped = Math.min(toSkip, table.rows)
    const count = Math.min(left, table.rows - skipped)
    toSkip -= skipped
    left -= count
    yield await run.step(node, [table], () => table.slice(run.work, skipped, count))
    if (left === 0) return
  }
}

/** Of the numbers of two rows. */
const PAIR_BYTES = 8

async function* product(run: QueryRun, node: NodeOf<'product'>): Tables {
  const left = await collect(run, node.left)
  const right = await collect(run, node.right)
  try {
    const pairs = left.rows * right.rows
    const most = Math.floor(LIMITS.queryPassBytes / PAIR_BYTES)
    for (let first = 0; first === 0 || first < pairs; first += most) {
      yield await run.step(node, [], () => {
        const count = Math.min(most, pairs - first)
        const numbers = run.work.kernels.rowPairs.record(run.work, first, count, right.rows)
        const sides = [left.pick(run.work, numbers.left, count), right.pick(run.work, numbers.right, count)]
        return new Table(
          count,
          sides.flatMap(({ columns }) => columns),
        )
      })
    }
  } finally {
    run.drop(left)
    run.drop(right)
  }
}

async function* join(run: QueryRun, node: NodeOf<'join'>): Tables {
  const left = await collect(run, node.left)
  const right = await collect(run, node.right)
  try {
    yield* joinTables(run, node, node, left, right)
  } finally {
    run.drop(left)
    run.drop(right)
  }
}

type SetNode = NodeOf<'union' | 'intersect' | 'except'>

async function* combine(run: QueryRun, node: SetNode): Tables {
  const left = await collect(run, node.left)
  const right = await collect(run, node.right)
  yield await run.step(node, [left, right], () => combineTables(run.work, node, left, right))
}

/** Set operators by key are semi and anti joins (Diamos et al. Table 1). */
async function* combineByKey(run: QueryRun, node: SetNode, key: readonly number[]): Tables {
  const left = await collect(run, node.left)
  const right = await collect(run, node.right)
  const condition = { pairs: key.map((column) => [column, column] as const), width: undefined }
  const spec = { condition, algorithm: 'auto', kind: node.op === 'intersect' ? 'semi' : 'anti' } as const
  if (node.op === 'union') {
    const others = await gather(run, node, joinTables(run, node, spec, right, left))
    yield await run.step(node, [left, right, others], () => concatenate(run.work, [left, others]))
    return
  }
  try {
    yield* joinTables(run, node, spec, left, right)
  } finally {
    run.drop(left)
    run.drop(right)
  }
}

/** A step that takes its whole input and gives one table. */
async function* whole(
  run: QueryRun,
  node: NodeOf<'distinct' | 'groupBy' | 'orderBy'>,
  make: (table: Table) => Promise<Table>,
): Tables {
  const table = await collect(run, node.input, node.op === 'groupBy' ? 'whole' : 'unknown')
  yield await run.step(node, [table], async () => {
    const made = await make(table)
    await run.checkFaults(node)
    return made
  })
}

/** All of a node's result as one table. */
function collect(run: QueryRun, node: TypedNode, reading?: Reading): Promise<Table> {
  return gather(run, node, execute(run, node, reading))
}

async function gather(run: QueryRun, node: TypedNode, tables: Tables): Promise<Table> {
  const collected: Table[] = []
  for await (const table of tables) collected.push(table)
  if (collected.length === 1) return collected[0]!
  return run.replace(node, collected, () => concatenate(run.work, collected))
}
