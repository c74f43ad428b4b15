import type { Device } from '../../../../gpu/device/device.js'
import { LIMITS } from '../../../../protocol/limits.js'
import type { Random } from '../../../random.js'
import { type HostRelation, hostRelation } from '../host-relation.js'
import { QueryBed } from '../query-bed.js'
import { randomRelation } from '../relations.js'
import { quoted } from './random-expression.js'
import { type FuzzQuery, type FuzzTree, RandomTrees } from './random-tree.js'

const ROWS = [0, 1, 20, 33, 64, 100, 257, 900]

/** Bytes of pairs of a pass: of a few pairs, of some, of all. */
const PASS_BYTES = [8 * 70, 8 * 3000, LIMITS.queryPassBytes]
const BATCH_BYTES = [2000, LIMITS.queryBatchBytes]

/** Relations of which one is random, one empty or small, and one has a row for the most part of which all others have one key. */
function randomRelations(random: Random, mostRows: number): readonly HostRelation[] {
  const skewed = randomRelation(random, 'skewed', 60)
  const columns = skewed.columns.map((column) => {
    if (column.name === 'id' || random.chance(0.5)) return column
    return { ...column, cells: column.cells.map((cell) => (random.chance(0.8) ? column.cells[0]! : cell)) }
  })
  return [
    randomRelation(random, 'r', 100),
    randomRelation(random, 'q', random.pick(ROWS.filter((rows) => rows <= mostRows))),
    hostRelation('skewed', columns),
  ]
}

export interface ProgramSize {
  readonly queries: number
  /** Operators from the root of a query to a relation, at most. */
  readonly depth: number
  /** Of a relation. */
  readonly mostRows: number
}

/**
 * Asks random queries over random relations, and DuckDB the same.
 * @throws Error for the first one whose rows are others there
 */
export async function runQueries(
  device: Device,
  random: Random,
  { queries, depth, mostRows }: ProgramSize,
): Promise<{ readonly rows: number }> {
  const { queryPassBytes, queryBatchBytes } = LIMITS
  Object.assign(LIMITS, {
    queryPassBytes: random.pick(PASS_BYTES),
    queryBatchBytes: random.pick(BATCH_BYTES),
  })
  const relations = randomRelations(random, mostRows)
  const bed = await QueryBed.fill(device, relations, undefined, random.chance(0.5))
  const trees = new RandomTrees(random, relations)
  let rows = 0
  try {
    for (let i = 0; i < queries; i++) {
      const query = trees.query(1 + random.below(depth))
      const found = await compare(bed, query, query.ordered)
      if (found.fault !== undefined) throw new Error(await smallest(bed, query, found.fault))
      rows += found.rows
      if (random.chance(0.2)) await compareKept(bed, query)
    }
  } finally {
    Object.assign(LIMITS, { queryPassBytes, queryBatchBytes })
    bed.close()
  }
  return { rows }
}

interface Comparison {
  /** What is wrong, if anything. */
  readonly fault: string | undefined
  readonly rows: number
}

async function compare(bed: QueryBed, { tree, sql }: FuzzTree, ordered: boolean): Promise<Comparison> {
  try {
    const { difference, rows } = await bed.compare(tree, sql, ordered)
    return { fault: difference, rows }
  } catch (error) {
    return { fault: String(error), rows: 0 }
  }
}

/** Keeps the rows of a query, whose booleans are numbers then, and asks for them. */
async function compareKept(bed: QueryBed, { tree, sql, columns }: FuzzQuery): Promise<void> {
  await bed.keep(tree, 'kept')
  const list = columns.map(({ name }) => quoted(name))
  const { difference } = await bed.compare({ op: 'scan', relation: 'kept' }, `select ${list} from (${sql})`)
  if (difference !== undefined) throw new Error(`kept: ${difference}\n${JSON.stringify(tree)}\n${sql}`)
}

/** The part of a tree that is at fault itself, or becomes it in its place, as both sides have it. */
async function smallest(bed: QueryBed, tree: FuzzTree, fault: string): Promise<string> {
  for (const input of tree.inputs) {
    const found = await compare(bed, input, false)
    if (found.fault !== undefined) return smallest(bed, input, found.fault)
  }
  return `${fault}\n${JSON.stringify(tree.tree)}\n${tree.sql}`
}
