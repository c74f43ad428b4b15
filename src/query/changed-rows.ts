import { projected } from '../../gpu/relational/expressions/evaluate.js'
import type { DeviceWork } from '../../gpu/relational/query/device-work.js'
import { withOwnStrings } from '../../gpu/relational/query/own-strings.js'
import { type ReadValues, readValues } from '../../gpu/relational/query/read-values.js'
import type { Table } from '../../gpu/relational/query/table.js'
import { aligned, NO_VALUES } from '../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { isMap } from '../../protocol/is-map.js'
import { LIMITS } from '../../protocol/limits.js'
import { checkCondition, checkExpression } from '../../protocol/query/check-expression.js'
import type { ConstantList } from '../../protocol/query/constant-lists.js'
import { NodeReader } from '../../protocol/query/node-reader.js'
import type { NodeOf, TypedExpression } from '../../protocol/query/typed.js'
import { converted } from '../../protocol/query/value-types.js'
import { type RelationDefinition, unknownColumn } from '../../protocol/relation.js'
import type { ColumnValues, RelationBatch } from '../../protocol/relation-batch.js'
import { type RemovedRows, RemovedRowsBuilder } from '../../protocol/removed-rows.js'
import { scan } from './operators/scan.js'
import { where } from './operators/where.js'
import { pruneColumns } from './prune-columns.js'
import type { QueryRun } from './query-run.js'
import { hasTextCast } from './text-casts.js'

/** Rows of a relation that are to be changed, as it came off the wire. */
export interface RowChange {
  /** The condition that they satisfy. */
  readonly where: unknown
  /** Their new values, as expressions over the old ones, by column; undefined where they are deleted. */
  readonly set?: unknown
  /** Constants of both that came as columns. */
  readonly lists?: readonly ConstantList[] | undefined
}

/** A change that was checked. */
export interface CheckedChange {
  /** Gives the old values that are asked for, behind them the new ones, and at last a column that is there as the relation has it. */
  readonly node: NodeOf<'project'>
  /** Names of columns whose old values are asked for. */
  readonly old: readonly string[]
  /** Names of the columns that get new values: all, or none. */
  readonly added: readonly string[]
}

/** Rows of which old values were asked for. */
export interface OldRows {
  readonly numbers: Uint32Array
  readonly batch: RelationBatch
}

/** Rows that were found. */
export interface FoundRows {
  readonly removed: RemovedRows
  /** All of them, in parts of up to `batchItems`; none where no old values were asked for. */
  readonly old: readonly OldRows[]
  /** What is to stand in their place. */
  readonly added: RelationBatch | undefined
}

/**
 * Checks a change against its relation.
 * @param old names of the columns whose old values are asked for
 * @throws WarpdexError `BAD_REQUEST` with the way to the fault
 */
export function checkChange(
  { where: condition, set, lists = [] }: RowChange,
  definition: RelationDefinition,
  old: readonly string[],
): CheckedChange {
  const { name, columns } = definition
  const budget = {
    nodes: LIMITS.queryNodes,
    expressions: LIMITS.queryExpressions,
    listed: LIMITS.queryListValues,
    lists,
  }
  const all = [...columns.keys()]
  const input: NodeOf<'where'> = {
    op: 'where',
    input: { op: 'scan', relation: name, kept: all, columns, path: 'where' },
    condition: checkCondition(new NodeReader(condition, 'where', budget), columns),
    kept: all,
    columns,
    path: 'where',
  }
  const columnAt = (index: number): TypedExpression => {
    const { type, nullable } = columns[index]!
    return { kind: 'column', index, type, nullable }
  }
  const newValues = set === undefined ? new Map() : checkSet(set, definition, budget)
  const added = set === undefined ? [] : columns
  const values = [
    ...old.map((name) => columnAt(columns.findIndex((column) => column.name === name))),
    ...added.map(({ name }, i) => newValues.get(name) ?? columnAt(i)),
    // The numbers of the rows come with a column, which need not be read.
    columnAt(0),
  ]
  if ([input.condition, ...values].some(hasTextCast))
    throw badRequest(
      'a change of rows makes no strings of numbers, dates or timestamps by itself; give it the texts',
    )
  const given = values.map(({ type, nullable }, i) => ({ name: String(i), type, nullable }))
  const node = pruneColumns({ op: 'project', input, values, columns: given, path: 'set' })
  // Its columns may be fewer now, and it is what it was.
  return { node: node as NodeOf<'project'>, old, added: added.map(({ name }) => name) }
}

function checkSet(
  set: unknown,
  definition: RelationDefinition,
  budget: NodeReader['budget'],
): ReadonlyMap<string, TypedExpression> {
  if (!isMap(set) || Object.keys(set).length === 0)
    throw badRequest('set: a map of one column or more to their new values is needed')
  const values = Object.entries(set).map(([name, value]) => {
    const column = definition.columns.find((column) => column.name === name)
    if (column === undefined) throw unknownColumn(name, definition)
    const reader = new NodeReader(value, `set.${name}`, budget)
    const typed = checkExpression(reader, definition.columns)
    const fitting = converted(typed, column.type)
    if (fitting !== undefined) return [name, fitting] as const
    throw reader.fault(`the column is ${column.type}, and its new value ${typed.type}; cast it`)
  })
  return new Map(values)
}

/**
 * Finds the rows of a checked change.
 * @throws WarpdexError `TOO_LARGE` for more rows with new values than go into one request
 */
export async function findRows(run: QueryRun, { node, old, added }: CheckedChange): Promise<FoundRows> {
  const filter = node.input as NodeOf<'where'>
  const removed = new RemovedRowsBuilder()
  const parts: OldRows[] = []
  let batch: RelationBatch | undefined
  for await (const table of where(run, filter, scan(run, filter.input as NodeOf<'scan'>), 'unknown')) {
    if (added.length > 0 && table.rows > LIMITS.batchItems) {
      const message = `${table.rows} rows would be updated; ${LIMITS.batchItems} at a time are allowed`
      throw new WarpdexError('TOO_LARGE', message)
    }
    for (let first = 0; first < table.rows; first += LIMITS.batchItems) {
      run.refuse()
      const rows = Math.min(LIMITS.batchItems, table.rows - first)
      const numbers = await run.read(node, () => readNumbers(run.work, table, first, rows))
      removed.add(numbers)
      if (old.length + added.length === 0) continue
      const values = await run.read(node, () => readPart(run, node, table, first, rows))
      const of = (names: readonly string[], from: number) => ({
        rows,
        columns: new Map(names.map((name, i) => [name, values[from + i]!])),
      })
      if (old.length > 0) parts.push({ numbers, batch: of(old, 0) })
      if (added.length > 0) batch = of(added, old.length)
    }
    run.drop(table)
  }
  await run.work.refuseFaults()
  return { removed: removed.build(), old: parts, added: batch }
}

/** Numbers of rows of a relation, which a table of some of them has, ascending. */
async function readNumbers(
  work: DeviceWork,
  { columns: [column] }: Table,
  first: number,
  rows: number,
): Promise<Uint32Array> {
  const numbers = column!.rows
  if (numbers === undefined) return Uint32Array.from({ length: rows }, (_, i) => first + i)
  const [bytes] = await work.readColumns([{ buffer: numbers.buffer, bytes: 4 * rows, offset: 4 * first }])
  return aligned(bytes!.slice(), Uint32Array)
}

async function readPart(
  run: QueryRun,
  node: NodeOf<'project'>,
  table: Table,
  first: number,
  rows: number,
): Promise<ColumnValues[]> {
  const { work } = run
  const values = node.values.slice(0, -1)
  const given = await projected(work, table.slice(work, first, rows), values)
  run.watchFaults(node)
  const sources = values.map((_, i) => given.dense(work, i))
  return (await readValues(work, sources, 0, rows)).map((read) => ownValues(read, rows))
}

/** A copy: what is read lies in memory that is lent. */
function ownValues(
  { source: { type, dictionary }, values, validity }: ReadValues,
  rows: number,
): ColumnValues {
  const own = { values: values.slice(), validity: validity?.slice(0, Math.ceil(rows / 8)) }
  if (type !== 'string') return own
  return dictionary === undefined ? { ...own, strings: NO_VALUES } : withOwnStrings(own, dictionary)
}
