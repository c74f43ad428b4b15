import { WarpdexError } from '../../../protocol/errors.js'
import type { TypedNode } from '../../../protocol/query/typed.js'
import type { ColumnFacts } from '../conditions/column-domain.js'
import type { ColumnSample } from './column-sample.js'
import { computed, estimateDistinct, estimateGroups } from './estimate-groups.js'
import { estimateJoin } from './estimate-join.js'
import { estimateSets } from './estimate-sets.js'
import { estimateWhere } from './estimate-where.js'
import { evenSource, type NodeEstimate, repeatedAll, unknownColumn } from './node-estimate.js'

/** What is known of a column of a relation. */
export interface StoredColumnFacts extends ColumnFacts {
  /** Absent where no sample has it, or none was read. */
  readonly sample: ColumnSample | undefined
  /** Different values, where an index knows. */
  readonly indexed: number | undefined
}

/** What is known of a relation. */
export interface StoredFacts {
  readonly rows: number
  /** By the numbers of its columns. */
  readonly columns: readonly StoredColumnFacts[]
}

const NO_CONDITION = { pairs: [], width: undefined }

/** Estimates the rows of every node of a tree, from what is known before it runs. */
export function estimateTree(
  root: TypedNode,
  relations: ReadonlyMap<string, StoredFacts>,
): ReadonlyMap<TypedNode, number> {
  const rows = new Map<TypedNode, number>()
  const estimate = (node: TypedNode): NodeEstimate => {
    const made = estimateNode(node, estimate, relations)
    rows.set(node, made.rows)
    return made
  }
  estimate(root)
  return rows
}

function estimateNode(
  node: TypedNode,
  estimate: (node: TypedNode) => NodeEstimate,
  relations: ReadonlyMap<string, StoredFacts>,
): NodeEstimate {
  switch (node.op) {
    case 'scan':
      return scanned(knownOf(relations, node.relation), node.kept)
    case 'where':
      return estimateWhere(node, estimate(node.input))
    case 'project': {
      const input = estimate(node.input)
      return { ...input, columns: node.values.map((value) => computed(value, input)) }
    }
    case 'join':
      return estimateJoin(node, estimate(node.left), estimate(node.right))
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

function knownOf(relations: ReadonlyMap<string, StoredFacts>, name: string): StoredFacts {
  const facts = relations.get(name)
  if (facts === undefined) throw new WarpdexError('INTERNAL', `nothing is known of relation "${name}"`)
  return facts
}

function scanned({ rows, columns }: StoredFacts, kept: readonly number[]): NodeEstimate {
  const key = Symbol()
  const sampled = columns.find(({ sample }) => sample !== undefined)?.sample?.rows ?? 0
  return {
    rows,
    columns: kept.map((number) => {
      const { sample, indexed, ...facts } = columns[number]!
      return { ...unknownColumn(facts, indexed), from: sample && { source: key, sample } }
    }),
    sources: new Map([[key, evenSource(rows, sampled, rows)]]),
    equal: [],
  }
}
