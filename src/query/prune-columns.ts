import { columnsRead, mapColumns, type TypedExpression, type TypedNode } from '../../protocol/query/typed.js'
import type { NodeOf } from './node-of.js'

/** A node without columns that nobody needs, and the numbers that those it has left had before, ascending. */
interface Pruned {
  readonly node: TypedNode
  readonly kept: readonly number[]
}

/**
 * A tree that gives the same rows, whose operators carry only the columns that those above them need: where tables are put together, in passes
 * of joins above all, every column is moved.
 */
export function pruneColumns(root: TypedNode): TypedNode {
  return prune(root, new Set(root.columns.keys())).node
}

function prune(node: TypedNode, needed: ReadonlySet<number>): Pruned {
  switch (node.op) {
    case 'scan':
      return keeping(node, needed, (kept) => ({ ...node, kept: kept.map((column) => node.kept[column]!) }))
    case 'where':
      return keeping(node, needed, (kept) => {
        const given = kept.map((column) => node.kept[column]!)
        const input = prune(node.input, new Set([...given, ...columnsRead(node.condition)]))
        const condition = renumber(node.condition, input.kept)
        return {
          ...node,
          input: input.node,
          condition,
          kept: given.map((column) => input.kept.indexOf(column)),
        }
      })
    case 'limit': {
      const input = prune(node.input, needed)
      return { node: { ...node, ...narrowed(node, input.kept), input: input.node }, kept: input.kept }
    }
    case 'orderBy': {
      const input = prune(node.input, new Set([...needed, ...node.by.map(({ column }) => column)]))
      const by = node.by.map((key) => ({ ...key, column: input.kept.indexOf(key.column) }))
      return { node: { ...node, ...narrowed(node, input.kept), input: input.node, by }, kept: input.kept }
    }
    case 'project':
      return keeping(node, needed, (kept) => {
        const values = kept.map((column) => node.values[column]!)
        const input = prune(node.input, new Set(values.flatMap(columnsRead)))
        return { ...node, input: input.node, values: values.map((value) => renumber(value, input.kept)) }
      })
    case 'groupBy':
      return pruneGroups(node, needed)
    case 'join':
      return pruneJoin(node, needed)
    case 'product': {
      const { left, right, kept } = pruneSides(node, needed, [], [])
      return { node: { ...node, ...narrowed(node, kept), left: left.node, right: right.node }, kept }
    }
    case 'distinct':
      return { node: { ...node, input: pruneColumns(node.input) }, kept: [...node.columns.keys()] }
    default: {
      const sides = { left: pruneColumns(node.left), right: pruneColumns(node.right) }
      return { node: { ...node, ...sides }, kept: [...node.columns.keys()] }
    }
  }
}

/** All keys stay: they say which rows there are. */
function pruneGroups(node: NodeOf<'groupBy'>, needed: ReadonlySet<number>): Pruned {
  const { length } = node.keys
  return keeping(node, new Set([...node.keys.keys(), ...needed]), (kept) => {
    const aggregates = kept.slice(length).map((column) => node.aggregates[column - length]!)
    const values = aggregates.flatMap(({ value }) => (value === undefined ? [] : [value]))
    const input = prune(node.input, new Set([...node.keys, ...values].flatMap(columnsRead)))
    return {
      ...node,
      input: input.node,
      keys: node.keys.map((key) => renumber(key, input.kept)),
      aggregates: aggregates.map(({ value, ...rest }) => ({
        ...rest,
        value: value && renumber(value, input.kept),
      })),
    }
  })
}

function pruneJoin(node: NodeOf<'join'>, needed: ReadonlySet<number>): Pruned {
  const { pairs } = node.condition
  const ofLeft = pairs.map(([column]) => column)
  const ofRight = pairs.map(([, column]) => column)
  const { left, right, kept } = pruneSides(node, needed, ofLeft, ofRight)
  const renumbered = pairs.map(([l, r]) => [left.kept.indexOf(l), right.kept.indexOf(r)] as const)
  const condition = { ...node.condition, pairs: renumbered }
  const pruned = { ...node, ...narrowed(node, kept), left: left.node, right: right.node, condition }
  return { node: pruned, kept }
}

/** Columns of the right side come after those of the left, unless the node gives the left side's only. */
function pruneSides(
  { left, right, columns }: NodeOf<'join' | 'product'>,
  needed: ReadonlySet<number>,
  ofLeft: readonly number[],
  ofRight: readonly number[],
): { readonly left: Pruned; readonly right: Pruned; readonly kept: readonly number[] } {
  const width = left.columns.length
  const above = [...needed]
  const prunedLeft = prune(left, new Set([...ofLeft, ...above.filter((column) => column < width)]))
  const behind = above.filter((column) => column >= width).map((column) => column - width)
  const prunedRight = prune(right, new Set([...ofRight, ...behind]))
  const rightKept = columns.length > width ? prunedRight.kept.map((column) => column + width) : []
  return { left: prunedLeft, right: prunedRight, kept: [...prunedLeft.kept, ...rightKept] }
}

/** A node of which exactly the needed columns stay. */
function keeping<Node extends TypedNode>(
  node: Node,
  needed: ReadonlySet<number>,
  prunedTo: (kept: readonly number[]) => Node,
): Pruned {
  const kept = [...needed].sort((a, b) => a - b)
  return { node: { ...prunedTo(kept), ...narrowed(node, kept) }, kept }
}

function narrowed({ columns }: TypedNode, kept: readonly number[]): Pick<TypedNode, 'columns'> {
  return { columns: kept.map((column) => columns[column]!) }
}

/** An expression over an input of which only some columns are left. */
function renumber(expression: TypedExpression, kept: readonly number[]): TypedExpression {
  return mapColumns(expression, (column) => kept.indexOf(column))
}
