import { isTooLarge } from '../../gpu/relational/query/device-work.js'
import { pairsOf, type TypedNode } from '../../protocol/query/typed.js'
import { distinct } from './operators/distinct.js'
import { group } from './operators/group.js'
import { join } from './operators/join.js'
import { joinWhere } from './operators/join-where.js'
import { limit } from './operators/limit.js'
import { order } from './operators/order.js'
import { product } from './operators/product.js'
import { project } from './operators/project.js'
import { scan } from './operators/scan.js'
import { sets } from './operators/sets.js'
import { sidesOf } from './operators/sides.js'
import { collect, type Tables } from './operators/tables.js'
import { where } from './operators/where.js'
import type { QueryRun } from './query-run.js'
import type { Reading } from './selection/select-table.js'

/**
 * Executes a checked tree. What streams (where, project, limit, product) hands on a table at a time, so that whoever reads slowly, or not to the
 * end, holds up the steps before; the others take all of their input first, as does what is an input of several. Whoever reads nothing of the tables learns at the end
 * of what has overflowed.
 */
export async function* execute(run: QueryRun, root: TypedNode): Tables {
  run.shared.root = root
  try {
    yield* tablesOf(run, root, 'whole')
  } catch (error) {
    // What has overflowed may be why there is so much.
    if (isTooLarge(error)) await run.work.refuseFaults()
    throw error
  }
  await run.work.refuseFaults()
}

/** @param reading what becomes of the tables */
function tablesOf(run: QueryRun, node: TypedNode, reading: Reading = 'unknown'): Tables {
  return run.shared.has(node) ? sharedTable(run, node) : operatorOf(run, node, reading)
}

/** Each who asks gets a table of its own: what it makes of columns is its own work, which goes to the device when it says. */
async function* sharedTable(run: QueryRun, node: TypedNode): Tables {
  const table = await run.shared.of(node, () => collect(run, node, operatorOf(run, node, 'unknown')))
  yield await run.replace(node, [table], () => table.choose([...table.columns.keys()]))
}

function operatorOf(run: QueryRun, node: TypedNode, reading: Reading): Tables {
  const of = (input: TypedNode) => tablesOf(run, input)
  switch (node.op) {
    case 'scan':
      return scan(run, node)
    case 'where':
      return where(run, node, of(node.input), reading)
    case 'project':
      return project(run, node, of(node.input))
    case 'limit':
      return limit(run, node, of(node.input))
    case 'product':
      return product(run, node, sidesOf(run, node, tablesOf))
    case 'join':
      return join(run, node, sidesOf(run, node, tablesOf))
    case 'joinWhere':
      return joinWhere(run, node, sidesOf(run, pairsOf(node).pairs, tablesOf))
    case 'union':
    case 'intersect':
    case 'except':
      return sets(run, node, sidesOf(run, node, tablesOf))
    case 'distinct':
      return distinct(run, node, of(node.input))
    case 'groupBy':
      return group(run, node, (input) => tablesOf(run, input, 'whole'))
    case 'orderBy':
      return order(run, node, of(node.input))
  }
}
