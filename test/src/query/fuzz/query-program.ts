import type { Device } from '../../../../gpu/device/device.js'
import { LIMITS } from '../../../../protocol/limits.js'
import type { Random } from '../../../random.js'
import { type HostRelation, hostRelation } from '../host-relation.js'
import { QueryBed } from '../query-bed.js'
import { randomRelation } from '../relations.js'
import { RandomTrees } from './random-tree.js'

const ROWS = [0, 1, 20, 33, 64, 100, 130]

/** Bytes of pairs of a pass: of a few pairs, of some, of all. */
const PASS_BYTES = [8 * 70, 8 * 3000, LIMITS.queryPassBytes]
const BATCH_BYTES = [2000, LIMITS.queryBatchBytes]

/** Relations of which one is random, one empty or small, and one has a row for the most part of which all others have one key. */
function randomRelations(random: Random): readonly HostRelation[] {
  const skewed = randomRelation(random, 'skewed', 60)
  const columns = skewed.columns.map((column) => {
    if (column.name === 'id' || random.chance(0.5)) return column
    return { ...column, cells: column.cells.map((cell) => (random.chance(0.8) ? column.cells[0]! : cell)) }
  })
  return [
    randomRelation(random, 'r', 100),
    randomRelation(random, 'q', random.pick(ROWS)),
    hostRelation('skewed', columns),
  ]
}

/**
 * Asks random queries over random relations, and DuckDB the same.
 * @throws Error for the first one whose rows are others there
 */
export async function runQueries(
  device: Device,
  random: Random,
  { queries, depth }: { readonly queries: number; readonly depth: number },
): Promise<{ readonly rows: number }> {
  const { queryPassBytes, queryBatchBytes } = LIMITS
  Object.assign(LIMITS, {
    queryPassBytes: random.pick(PASS_BYTES),
    queryBatchBytes: random.pick(BATCH_BYTES),
  })
  const relations = randomRelations(random)
  const bed = await QueryBed.fill(device, relations)
  const trees = new RandomTrees(random, relations)
  let rows = 0
  try {
    for (let i = 0; i < queries; i++) {
      const { tree, sql, ordered } = trees.query(1 + random.below(depth))
      const said = await bed.compare(tree, sql, ordered).catch((error) => {
        throw new Error(`${error.message}\n${JSON.stringify(tree)}\n${sql}`, { cause: error })
      })
      if (said.difference !== undefined) {
        throw new Error(`${said.difference}\n${JSON.stringify(tree)}\n${sql}`)
      }
      rows += said.rows
    }
  } finally {
    Object.assign(LIMITS, { queryPassBytes, queryBatchBytes })
    bed.close()
  }
  return { rows }
}
