// How many rows the operators of a tree will have, from samples of 4,096 random rows per relation, dictionaries of strings, and sizes:
//
//   where                      histograms, and the rows of the sample that satisfy all conditions, also above joins, groups and limits while columns come from one
//                              relation. What computes with columns is guessed: = 1/10, < 1/3
//   join                       values that are common in a sample by how often they come; all others by numbers of different values, as if the side with fewer had
//                              all of them from the other. Pairs that the samples have correct that. Bands by the distributions of both sides
//   join with a condition      as a join and a where; rows without a partner as if the pairs were spread over all rows at random
//   groupBy, distinct          different values by Duj2a (distinct-count.ts); several columns of one relation as they go together in the sample, those of another
//                              not at all where they follow from what was joined by
//   union, intersect, except   as joins of different rows; by key as semi and anti joins
//
// Columns of two relations count as independent. Over random relations joins are within a factor of 3 and groups within 3.5 in every test run; with a sample of one
// row in r no estimate of different values is always within sqrt(r).

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
