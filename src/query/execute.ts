import type { TypedNode } from '../../protocol/query/typed.js'
import { distinct } from './operators/distinct.js'
import { group } from './operators/group.js'
import { join } from './operators/join.js'
import { limit } from './operators/limit.js'
import { order } from './operators/order.js'
import { product } from './operators/product.js'
import { project } from './operators/project.js'
import { scan } from './operators/scan.js'
import { sets } from './operators/sets.js'
import type { Tables } from './operators/tables.js'
import { where } from './operators/where.js'
import type { QueryRun } from './query-run.js'
import type { Reading } from './selection/select-table.js'

/**
 * Executes a checked tree. What streams (where, project, limit, product) hands on a table at a time, so that whoever reads slowly, or not to the
 * end, holds up the steps before; the others take all of their input first.
 *
 * @param reading what becomes of the tables
 */
export function execute(run: QueryRun, node: TypedNode, reading: Reading = 'unknown'): Tables {
  const of = (input: TypedNode) => execute(run, input)
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
      return product(run, node, of(node.left), of(node.right))
    case 'join':
      return join(run, node, of(node.left), of(node.right))
    case 'union':
    case 'intersect':
    case 'except':
      return sets(run, node, of(node.left), of(node.right))
    case 'distinct':
      return distinct(run, node, of(node.input))
    case 'groupBy':
      return group(run, node, execute(run, node.input, 'whole'))
    case 'orderBy':
      return order(run, node, of(node.input))
  }
}
