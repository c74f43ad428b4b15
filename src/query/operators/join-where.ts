import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { wantedRows } from '../../../gpu/relational/joins/join-result.js'
import { NO_ROW, type SideName } from '../../../gpu/relational/joins/join-types.js'
import { listRows, noMatches, type RowMatches, type Wanted } from '../../../gpu/relational/joins/matched.js'
import type { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import { plainColumn } from '../../../gpu/relational/query/query-column.js'
import { Table } from '../../../gpu/relational/query/table.js'
import { givenOf, type NodeOf, pairsOf } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import { joinTables } from './join.js'
import type { Sides } from './sides.js'
import type { Tables } from './tables.js'
import { where } from './where.js'

type Tabled = Readonly<Record<SideName, Table>>
type Found = Readonly<Partial<Record<SideName, RowMatches>>>

/**
 * Pairs of an inner join are chosen by a condition, and rows of the sides marked that are in those that are left. These pairs, and rows by their marks, are what
 * the kind of join asks for.
 */
export async function* joinWhere(run: QueryRun, node: NodeOf<'joinWhere'>, sides: Sides): Tables {
  const { kind } = node
  const { chosen, pairs } = pairsOf(node)
  const [left, right] = await sides()
  const tables = { left, right }
  const wanted = kind === 'mark' ? { left: 'matched' as const } : wantedRows(kind)
  const found = foundIn(run.work, tables, wanted)
  const letGo = run.keep(Object.values(found).map(({ flags }) => flags))
  try {
    for await (const table of where(run, chosen, joinTables(run, pairs, pairs, left, right), 'unknown')) {
      await run.measure(node, async () => markRows(run.work, table, found))
      if (givesPairs(kind)) yield await run.step(node, [table], () => table.choose(node.kept))
      else run.drop(table)
    }
    if (kind === 'mark') yield await run.step(node, [], () => markedTable(node, left, found.left!))
    else {
      for (const [side, rows] of Object.entries(found) as [SideName, RowMatches][]) {
        yield await run.step(node, [], () => rowsAlone(run.work, node, tables, side, rows, wanted[side]!))
      }
    }
  } finally {
    run.drop(left)
    run.drop(right)
    letGo()
  }
}

function givesPairs(kind: NodeOf<'joinWhere'>['kind']): boolean {
  return kind !== 'semi' && kind !== 'anti' && kind !== 'mark'
}

function foundIn(
  work: DeviceWork,
  tables: Tabled,
  wanted: Readonly<Partial<Record<SideName, Wanted>>>,
): Found {
  const sides = Object.keys(wanted) as SideName[]
  return Object.fromEntries(sides.map((side) => [side, noMatches(work, work.scratch, tables[side].rows)]))
}

/** Marks the rows that are in pairs, whose last columns are their numbers. */
function markRows(work: DeviceWork, pairs: Table, found: Found): void {
  const { rows, columns } = pairs
  if (rows === 0) return
  const ones = work.words(rows)
  work.kernels.primitives.fill(work.recorder, ones, rows, 1)
  const mark = (matches: RowMatches | undefined, column: number) => {
    if (matches === undefined) return
    const numbers = pairs.dense(work, column).values
    work.kernels.primitives.scatter(work.recorder, ones, numbers, matches.flags, rows, 1)
  }
  mark(found.left, columns.length - 2)
  mark(found.right, columns.length - 1)
}

/** All left rows, with their marks. */
function markedTable(node: NodeOf<'joinWhere'>, left: Table, { flags }: RowMatches): Table {
  return left.choose([...givenOf(node), plainColumn('boolean', flags)])
}

/** Rows of a side by whether they are marked, with nulls for the columns of the other. */
async function rowsAlone(
  work: DeviceWork,
  node: NodeOf<'joinWhere'>,
  tables: Tabled,
  side: SideName,
  matches: RowMatches,
  wanted: Wanted,
): Promise<Table> {
  const { rows, count } = await listed(work, matches, wanted)
  const nothing = work.words(count)
  if (count > 0) work.kernels.primitives.fill(work.recorder, nothing, count, NO_ROW)
  const columns = (['left', 'right'] as const).flatMap((name) => {
    const numbers =
      name === side ? { buffer: rows, outer: false, ascending: true } : { buffer: nothing, outer: true }
    return tables[name].pick(work, numbers, count).columns
  })
  return new Table(count, columns).choose(givenOf(node))
}

async function listed(
  work: DeviceWork,
  matches: RowMatches,
  wanted: Wanted,
): Promise<{ readonly rows: DeviceMemory; readonly count: number }> {
  if (matches.rows === 0) return { rows: work.absent, count: 0 }
  const { rows, total } = listRows(work, work.scratch, matches, wanted)
  const [count] = await work.read([total])
  return { rows, count: count! }
}
