import { payloadsOf } from '../../../gpu/device-reads.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { ColumnIndex } from '../../../gpu/relational/device-relation.js'
import { chooseJoin, type JoinChoice, type SideFacts } from '../../../gpu/relational/joins/join-choice.js'
import { keyFacts } from '../../../gpu/relational/joins/join-keys.js'
import type { JoinResult } from '../../../gpu/relational/joins/join-result.js'
import type { SideName } from '../../../gpu/relational/joins/join-types.js'
import { mostMatches } from '../../../gpu/relational/joins/tree-index.js'
import { treeProbe } from '../../../gpu/relational/joins/tree-probe.js'
import { valueWords } from '../../../gpu/relational/query/query-column.js'
import type { Table } from '../../../gpu/relational/query/table.js'
import { LIMITS } from '../../../protocol/limits.js'
import { isFloat } from '../../../protocol/query/value-types.js'
import { commonestRows, estimateTable } from '../estimates/estimate-table.js'
import { joinMatches } from '../estimates/join-matches.js'
import type { QueryRun } from '../query-run.js'
import type { JoinSpec } from './join.js'

/** A join whose results are counted. */
export interface CountedJoin {
  readonly result: JoinResult
  /** Keys, which must be kept until the results are written. */
  readonly keys: readonly DeviceMemory[]
  readonly method: string
}

/**
 * Joins with an index over the column that one side is joined by, where that is all of a relation and the estimate is that it pays.
 * @returns undefined where it does not, or the index is not at hand
 */
export async function joinByIndex(
  run: QueryRun,
  spec: JoinSpec,
  left: Table,
  right: Table,
): Promise<CountedJoin | undefined> {
  const { pairs, width } = spec.condition
  const [pair] = pairs
  if (pair === undefined || pairs.length > 1 || width !== undefined || spec.nullsEqual) return undefined
  const sides = { left: sideOf(run, left, pair[0]), right: sideOf(run, right, pair[1]) }
  const choice = chooseTree(run, spec, sides)
  const index = choice && sides[choice.build].index
  if (choice === undefined || index === undefined) return undefined
  const { build } = choice
  const name = run.nameOf(index)
  const title = name === undefined ? 'an index' : `the index ${name}`
  return index.use(async (structure) =>
    structure.duringReads?.((reads) =>
      run.work.untilSubmitted(async () => {
        const built = sides[build]
        // NaN equals itself in queries, and is in no index.
        const isWhole = payloadsOf(reads) === built.table.rows
        if (isFloat(built.type) && !isWhole) return undefined
        const other = sides[build === 'left' ? 'right' : 'left']
        if (hasTooMany(run, sides, build, structure.stats().keys)) return undefined
        const probe = await treeProbe(run.work, other.table, other.column)
        if (probe === undefined) return undefined
        const result = await run.work.kernels.joins.joinByTree(run.work, {
          index: reads,
          build,
          buildRows: built.table.rows,
          probe,
          probeRows: other.table.rows,
          kind: spec.kind,
          passBytes: LIMITS.queryPassBytes,
          costs: choice.costs,
        })
        const keys = [probe.keys, probe.rows ?? []].flat()
        return result && { result, keys, method: `inlj on ${title} of the ${build} side` }
      }),
    ),
  )
}

/** A side by the column that it is joined by, and an index over that. */
interface IndexedSide {
  readonly table: Table
  readonly column: number
  readonly type: Table['columns'][number]['source']['type']
  readonly index: ColumnIndex | undefined
}

function sideOf(run: QueryRun, table: Table, column: number): IndexedSide {
  const { source, rows } = table.columns[column]!
  const index = rows === undefined ? indexOver(run, source) : undefined
  return { table, column, type: source.type, index }
}

/**
 * Whether so many matches are expected that the index would be given up once they are counted. Of strings each of the dictionary's is looked for
 * once, however often it comes.
 */
function hasTooMany(
  run: QueryRun,
  { left, right }: Readonly<Record<SideName, IndexedSide>>,
  build: SideName,
  keys: number,
): boolean {
  const [built, probes] = build === 'left' ? [left, right] : [right, left]
  const most = mostMatches(built.table.rows, probes.table.rows)
  if (left.type === 'string' || keys === 0) return false
  const indexed = estimateTable(run, built.table.choose([built.column]), new Map([[0, keys]]))
  const often = Math.max(built.table.rows / keys, commonestRows(indexed, indexed.columns[0]!))
  // Matching two samples takes milliseconds, and most indexes have few rows of each key.
  if (often * probes.table.rows <= most) return false
  const probing = estimateTable(run, probes.table.choose([probes.column]))
  return joinMatches({ pairs: [[0, 0]], width: undefined }, probing, indexed).pairs > most
}

/** An index over nothing but a column of a relation. */
function indexOver(
  { relations }: QueryRun,
  source: Table['columns'][number]['source'],
): ColumnIndex | undefined {
  for (const { columns, indexes = [] } of relations.values()) {
    const over = indexes.find(({ columns: names }) => {
      return names.length === 1 && columns.get(names[0]!) === source
    })
    if (over !== undefined) return over
  }
  return undefined
}

/** Looking for the rows of one side in the other's index; undefined where something else is estimated to take less. */
function chooseTree(
  { work }: QueryRun,
  { algorithm, kind }: JoinSpec,
  { left, right }: Readonly<Record<SideName, IndexedSide>>,
): JoinChoice | undefined {
  const factsOf = ({ table, column, index }: IndexedSide): SideFacts => {
    // Whoever asks for INLJ is given the index that there is.
    const { ascending, unique } = keyFacts(work, table, column)
    const sorted = algorithm === 'auto' && ascending
    return { count: table.rows, sorted, unique, indexed: index !== undefined }
  }
  const facts = { left: factsOf(left), right: factsOf(right) }
  const { software } = work.device.facts
  const keyWords = valueWords(left.type)
  // No index has keys of 128 bits.
  if (keyWords === 4) return undefined
  const choice = chooseJoin({ ...facts, keyWords, band: false, kind, software }, algorithm)
  const isTree = choice.algorithm === 'inlj' && facts[choice.build].indexed
  return isTree ? choice : undefined
}
