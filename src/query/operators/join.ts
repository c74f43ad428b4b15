import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { type JoinKeys, joinKeys } from '../../../gpu/relational/joins/join-keys.js'
import type { JoinPass } from '../../../gpu/relational/joins/join-types.js'
import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import type { RowNumbers } from '../../../gpu/relational/query/fetch.js'
import { plainColumn } from '../../../gpu/relational/query/query-column.js'
import { Table } from '../../../gpu/relational/query/table.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { JoinKind } from '../../../protocol/query/tree.js'
import type { JoinCondition, NodeOf, TypedNode } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import { type CountedJoin, joinByIndex } from './join-by-index.js'
import type { Sides } from './sides.js'
import type { Tables } from './tables.js'

/** Rows of both sides that match. */
export async function* join(run: QueryRun, node: NodeOf<'join'>, sides: Sides): Tables {
  const [left, right] = await sides()
  try {
    yield* joinTables(run, node, node, left, right)
  } finally {
    run.drop(left)
    run.drop(right)
  }
}

/** What is joined, and how. */
export type JoinSpec = Pick<NodeOf<'join'>, 'kind' | 'algorithm'> & {
  readonly condition: JoinCondition
  /** Numbers of the columns that are given; all if absent. */
  readonly kept?: readonly number[]
  /** Whether nulls are equal to each other; else to nothing. */
  readonly nullsEqual?: boolean
}

/** Joins two tables, as steps of a node: a table a pass, and one at least. The caller drops the two when it has all that it wants. */
export async function* joinTables(
  run: QueryRun,
  node: TypedNode,
  spec: JoinSpec,
  left: Table,
  right: Table,
): AsyncGenerator<Table, void, undefined> {
  const { work } = run
  const { kind, kept } = spec
  const tableOf = (pass: JoinPass) => {
    const table = passTable(work, kind, left, right, pass)
    const numbers = [pass.left, pass.right ?? work.absent].map((values) => plainColumn('u32', values))
    return kept === undefined
      ? table
      : table.choose(kept.map((column) => numbers[column - table.columns.length] ?? column))
  }
  const byIndex = await run.measure(node, () => joinByIndex(run, spec, left, right))
  const { result, keys, method } =
    byIndex ?? (await run.measure(node, () => joinByKeys(run, spec, left, right)))
  const letGo = run.keep(keys)
  Object.assign(run.figures(node), { method, join: result.choice })
  let tables = 0
  try {
    for await (const pass of result.passes()) {
      tables++
      yield await run.step(node, [], () => tableOf(pass))
    }
    if (tables > 0) return
    const none = { left: work.absent, right: work.absent, count: 0, ascending: undefined }
    yield await run.step(node, [], () => tableOf(none))
  } finally {
    result.destroy()
    letGo()
  }
}

async function joinByKeys(
  { work }: QueryRun,
  { kind, algorithm, condition: { pairs, width }, nullsEqual = false }: JoinSpec,
  left: Table,
  right: Table,
): Promise<CountedJoin> {
  const keys = await joinKeys(work, left, right, { pairs, band: width !== undefined, nullsEqual })
  const result = await work.kernels.joins.join(work, {
    ...keys,
    kind,
    algorithm,
    passBytes: LIMITS.queryPassBytes,
    delta: width === undefined ? undefined : BigInt(width),
  })
  const { choice } = result
  const method = `${choice.algorithm}, built on the ${choice.build} side${orderOf(keys)}`
  return { result, keys: [keys.left.keys, keys.right.keys], method }
}

/** Which sides did not have to be put in order. */
function orderOf({ left, right }: JoinKeys): string {
  if (left.sorted && right.sorted) return ', both sides are in order'
  if (!left.sorted && !right.sorted) return ''
  return `, the ${left.sorted ? 'left' : 'right'} side is in order`
}

/** The rows that a pass has the numbers of. Semi and anti joins give rows of the left side only. */
function passTable(work: DeviceWork, kind: JoinKind, left: Table, right: Table, pass: JoinPass): Table {
  const { count, ascending } = pass
  const numbers = (side: 'left' | 'right', buffer: DeviceMemory, kinds: readonly JoinKind[]): RowNumbers => {
    return { buffer, outer: kinds.includes(kind), ascending: ascending === side }
  }
  const ofLeft = left.pick(work, numbers('left', pass.left, ['right', 'full']), count)
  if (kind === 'semi' || kind === 'anti' || pass.right === undefined) return ofLeft
  const ofRight = right.pick(work, numbers('right', pass.right, ['left', 'full']), count)
  return new Table(count, [...ofLeft.columns, ...ofRight.columns], ofLeft.order)
}
