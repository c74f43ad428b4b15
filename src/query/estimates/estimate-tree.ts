import { Table } from '../../../gpu/relational/query/table.js'
import { pairsOf, type TypedNode } from '../../../protocol/query/typed.js'
import type { QueryRun } from '../query-run.js'
import { computed, estimateDistinct, estimateGroups } from './estimate-groups.js'
import { estimateJoin } from './estimate-join.js'
import { estimateJoinWhere } from './estimate-join-where.js'
import { estimateSets } from './estimate-sets.js'
import { estimateTable } from './estimate-table.js'
import { estimateWhere } from './estimate-where.js'
import { type NodeEstimate, repeatedAll, unknownColumn } from './node-estimate.js'

/** What a tree reads. */
export type EstimatedRun = Pick<QueryRun, 'originOf' | 'relation'>

const ROW_NUMBER = unknownColumn({ type: 'u32', nullable: false, dictionary: undefined })
const NO_CONDITION = { pairs: [], width: undefined }

/** Estimates the rows of every node of a tree before it runs, from the samples that are at hand. */
export function estimateTree(root: TypedNode, run: EstimatedRun): ReadonlyMap<TypedNode, number> {
  const rows = new Map<TypedNode, number>()
  const estimate = (node: TypedNode): NodeEstimate => {
    const made = estimateNode(node, estimate, run)
    rows.set(node, made.rows)
    return made
  }
  estimate(root)
  return rows
}

function estimateNode(
  node: TypedNode,
  estimate: (node: TypedNode) => NodeEstimate,
  run: EstimatedRun,
): NodeEstimate {
  switch (node.op) {
    case 'scan': {
      const { rows, live, columns } = run.relation(node.relation)
      const table = Table.ofRelation({ rows: live?.count ?? rows, columns })
      return estimateTable(run, table.choose(node.kept))
    }
    case 'where':
      return estimateWhere(node, estimate(node.input))
    case 'project': {
      const input = estimate(node.input)
      return { ...input, columns: node.values.map((value) => computed(value, input)) }
    }
    case 'join': {
      const joined = estimateJoin(node, estimate(node.left), estimate(node.right))
      return { ...joined, columns: node.kept.map((column) => joined.columns[column] ?? ROW_NUMBER) }
    }
    case 'joinWhere': {
      const { left, right } = pairsOf(node).pairs
      return estimateJoinWhere(node, estimate(node.input), estimate(left), estimate(right))
    }
    case 'product':
      return estimateJoin(
        { kind: 'inner', condition: NO_CONDITION },
        estimate(node.left),
        estimate(node.right),
      )
    case 'union':
    case 'intersect':
    case 'except':
      return estimateSets(node, estimate(node.left), estimate(node.right))
    case 'distinct':
      return estimateDistinct(estimate(node.input))
    case 'groupBy':
      return estimateGroups(node, estimate(node.input))
    case 'orderBy':
      return estimate(node.input)
    case 'limit': {
      const input = estimate(node.input)
      const rows = Math.min(node.rows, Math.max(0, input.rows - node.offset))
      return input.rows === 0 ? input : repeatedAll(input, rows / input.rows)
    }
  }
}
