import { concatenate } from '../../../gpu/relational/query/concatenate.js'
import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import { selectFlagged } from '../../../gpu/relational/query/expressions.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import { joinTables } from '../join-tables.js'
import type { NodeOf } from '../node-of.js'
import type { QueryRun } from '../query-run.js'
import { distinctTable } from './distinct.js'
import { collect, type Tables } from './tables.js'

type SetNode = NodeOf<'union' | 'intersect' | 'except'>

/** Union, intersection and difference: by whole rows, or by key. */
export async function* sets(run: QueryRun, node: SetNode, lefts: Tables, rights: Tables): Tables {
  const left = await collect(run, node.left, lefts)
  const right = await collect(run, node.right, rights)
  if (node.byKey !== undefined) return yield* combineByKey(run, node, node.byKey, left, right)
  yield await run.step(node, [left, right], () => combineTables(run.work, node, left, right))
}

/** Set operators by key are semi and anti joins (Diamos et al. Table 1). */
async function* combineByKey(
  run: QueryRun,
  node: SetNode,
  key: readonly number[],
  left: Table,
  right: Table,
): Tables {
  const condition = { pairs: key.map((column) => [column, column] as const), width: undefined }
  const spec = { condition, algorithm: 'auto', kind: node.op === 'intersect' ? 'semi' : 'anti' } as const
  if (node.op === 'union') {
    const others = await collect(run, node, joinTables(run, node, spec, right, left))
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

/** By whole rows. */
async function combineTables(
  work: DeviceWork,
  { op, all }: Pick<SetNode, 'op' | 'all'>,
  left: Table,
  right: Table,
): Promise<Table> {
  const both = concatenate(work, [left, right])
  if (op === 'union') return all ? both : (await distinctTable(work, both)).table
  if (left.rows === 0 || (right.rows === 0 && op === 'intersect')) return left.slice(work, 0, 0)
  const groups = await work.kernels.groupStarts.group(work, both)
  const order = { buffer: groups.order ?? iota(work, both.rows), outer: false }
  const operation = all ? (`${op}All` as const) : op
  const flags = work.kernels.setMembers.record(
    work,
    { ...groups, order: order.buffer },
    both.rows,
    left.rows,
    operation,
  )
  const { numbers, count } = await selectFlagged(work, flags, both.rows)
  return both.pick(work, work.kernels.fetch.compose(work, order, numbers, count), count)
}

function iota(work: DeviceWork, rows: number): GPUBuffer {
  const numbers = work.words(rows)
  work.kernels.primitives.iota(work.recorder, numbers, rows)
  return numbers
}
