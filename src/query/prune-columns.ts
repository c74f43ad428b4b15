import { getOrInsert } from '../../protocol/get-or-insert.js'
import {
  columnsRead,
  mapColumns,
  type NodeOf,
  type TypedExpression,
  type TypedNode,
} from '../../protocol/query/typed.js'
import { sharedNodes, united } from './shared-nodes.js'

/** A node without columns that nobody needs, and the numbers that those it has left had before, ascending. */
interface Pruned {
  readonly node: TypedNode
  readonly kept: readonly number[]
}

/** Nodes that are inputs of several others. */
interface Shared {
  /** The columns that are needed of each by any of them. */
  readonly needed: ReadonlyMap<TypedNode, Set<number>>
  /** Those that are pruned already; undefined while it is not known what is needed. */
  readonly pruned: Map<TypedNode, Pruned> | undefined
}

/**
 * A tree that gives the same rows, whose operators carry only the columns that those above them need: where tables are put together, in passes
 * of joins above all, every column is moved. Equal sub-trees are one node in it.
 */
export function pruneColumns(root: TypedNode): TypedNode {
  const tree = united(root)
  const all = new Set(tree.columns.keys())
  const needed = new Map([...sharedNodes(tree)].map((node) => [node, new Set<number>()]))
  if (needed.size > 0) prune(tree, all, { needed, pruned: undefined })
  return prune(tree, all, { needed, pruned: new Map() }).node
}

function prune(node: TypedNode, needed: ReadonlySet<number>, shared: Shared): Pruned {
  const ofAll = shared.needed.get(node)
  for (const column of needed) ofAll?.add(column)
  if (ofAll === undefined || shared.pruned === undefined) return pruneNode(node, needed, shared)
  return getOrInsert(shared.pruned, node, () => pruneNode(node, ofAll, shared))
}

function pruneNode(node: TypedNode, needed: ReadonlySet<number>, shared: Shared): Pruned {
  const { node: pruned, kept } = pruneInputs(node, needed, shared)
  return { node: { ...pruned, columns: kept.map((column) => node.columns[column]!) }, kept }
}

function pruneInputs(node: TypedNode, needed: ReadonlySet<number>, shared: Shared): Pruned {
  const kept = [...needed].sort((a, b) => a - b)
  switch (node.op) {
    case 'scan':
      return { node: { ...node, kept: kept.map((column) => node.kept[column]!) }, kept }
    case 'where': {
      const given = kept.map((column) => node.kept[column]!)
      const input = prune(node.input, new Set([...given, ...columnsRead(node.condition)]), shared)
      const condition = renumber(node.condition, input)
      const numbers = given.map((column) => input.kept.indexOf(column))
      return { node: { ...node, input: input.node, condition, kept: numbers }, kept }
    }
    case 'limit': {
      const input = prune(node.input, needed, shared)
      return { node: { ...node, input: input.node }, kept: input.kept }
    }
    case 'orderBy': {
      const input = prune(node.input, new Set([...needed, ...node.by.map(({ column }) => column)]), shared)
      const by = node.by.map((key) => ({ ...key, column: input.kept.indexOf(key.column) }))
      return { node: { ...node, input: input.node, by }, kept: input.kept }
    }
    case 'project': {
      const values = kept.map((column) => node.values[column]!)
      const input = prune(node.input, new Set(values.flatMap(columnsRead)), shared)
      return {
        node: { ...node, input: input.node, values: values.map((value) => renumber(value, input)) },
        kept,
      }
    }
    case 'groupBy':
      return pruneGroups(node, kept, shared)
    case 'join':
    case 'product':
      return pruneSides(node, needed, shared)
    case 'joinWhere': {
      const given = kept.flatMap((column) => node.kept[column] ?? [])
      const { length } = node.input.columns
      const input = prune(node.input, new Set([...given, length - 2, length - 1]), shared)
      const numbers = given.map((column) => input.kept.indexOf(column))
      const marks = node.kind === 'mark' ? [node.kept.length] : []
      return {
        node: { ...node, input: input.node, kept: numbers },
        kept: [...kept.slice(0, given.length), ...marks],
      }
    }
    case 'distinct':
      return { node: { ...node, input: pruneAll(node.input, shared) }, kept: [...node.columns.keys()] }
    default: {
      const sides = { left: pruneAll(node.left, shared), right: pruneAll(node.right, shared) }
      return { node: { ...node, ...sides }, kept: [...node.columns.keys()] }
    }
  }
}

/** Of a node whose columns all count. */
function pruneAll(node: TypedNode, shared: Shared): TypedNode {
  return prune(node, new Set(node.columns.keys()), shared).node
}

/** All keys stay: they say which rows there are. */
function pruneGroups(node: NodeOf<'groupBy'>, needed: readonly number[], shared: Shared): Pruned {
  const { length } = node.keys
  const behind = needed.filter((column) => column >= length)
  const aggregates = behind.map((column) => node.aggregates[column - length]!)
  const values = aggregates.flatMap(({ value }) => value ?? [])
  const input = prune(node.input, new Set([...node.keys, ...values].flatMap(columnsRead)), shared)
  const pruned: TypedNode = {
    ...node,
    input: input.node,
    keys: node.keys.map((key) => renumber(key, input)),
    aggregates: aggregates.map((aggregate) => ({
      ...aggregate,
      value: aggregate.value && renumber(aggregate.value, input),
    })),
  }
  return { node: pruned, kept: [...node.keys.keys(), ...behind] }
}

/** Columns of the right side come after those of the left, and behind them row numbers. What a join goes by ends with it unless it is needed above. */
function pruneSides(node: NodeOf<'join' | 'product'>, needed: ReadonlySet<number>, shared: Shared): Pruned {
  const pairs = node.op === 'join' ? node.condition.pairs : []
  const width = node.left.columns.length
  const all = width + node.right.columns.length
  const outputs = [...needed].sort((a, b) => a - b)
  const above = node.op === 'join' ? outputs.map((column) => node.kept[column]!) : outputs
  const ofLeft = [...pairs.map(([column]) => column), ...above.filter((column) => column < width)]
  const behind = above.filter((column) => column >= width && column < all).map((column) => column - width)
  const left = prune(node.left, new Set(ofLeft), shared)
  const right = prune(node.right, new Set([...pairs.map(([, column]) => column), ...behind]), shared)
  const rightKept = right.kept.map((column) => column + width)
  const both = [...left.kept, ...rightKept, ...above.filter((column) => column >= all)]
  const pruned = { ...node, left: left.node, right: right.node }
  if (pruned.op === 'product') return { node: pruned, kept: both }
  const kept = above.map((column) => both.indexOf(column))
  const renumbered = pairs.map(([l, r]) => [left.kept.indexOf(l), right.kept.indexOf(r)] as const)
  const condition = { ...pruned.condition, pairs: renumbered }
  return { node: { ...pruned, condition, kept }, kept: outputs }
}

/** An expression over an input of which only some columns are left. */
function renumber(expression: TypedExpression, { kept }: Pruned): TypedExpression {
  return mapColumns(expression, (column) => kept.indexOf(column))
}
