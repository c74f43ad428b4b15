import { getOrInsert } from '../../protocol/get-or-insert.js'
import { structureOf } from '../../protocol/query/structure.js'
import { inputsOf, type TypedNode } from '../../protocol/query/typed.js'

/** The same tree, in which equal sub-trees are one node, whatever their columns are called. Those that only read columns stay apart: there is nothing to do twice. */
export function united(root: TypedNode): TypedNode {
  const scanned = scansOf(root)
  // What is equal reads the same.
  if (new Set(scanned).size === scanned.length) return root
  const known = new Map<string, { readonly number: number; readonly node: TypedNode }>()
  const unite = (node: TypedNode): { readonly number: number; readonly node: TypedNode } => {
    const inputs = inputsOf(node).map(unite)
    const [first, second] = inputs.map(({ number }) => number)
    const text = structureOf({ ...node, columns: undefined, input: first, left: first, right: second })
    const own = withInputs(
      node,
      inputs.map((input) => input.node),
    )
    const equal = getOrInsert(known, text, () => ({ number: known.size, node: own }))
    return waits(own) ? equal : { number: equal.number, node: own }
  }
  return unite(root).node
}

/** The relations that a tree reads, each as often as it does. */
function scansOf(node: TypedNode): readonly string[] {
  return node.op === 'scan' ? [node.relation] : inputsOf(node).flatMap(scansOf)
}

function withInputs(node: TypedNode, [first, second]: readonly TypedNode[]): TypedNode {
  if (first === undefined || node.op === 'scan') return node
  if ('left' in node) return { ...node, left: first, right: second! }
  return { ...node, input: first }
}

/** Nodes that are inputs of several others, but for those that only read columns. */
export function sharedNodes(root: TypedNode): ReadonlySet<TypedNode> {
  const met = new Set<TypedNode>()
  const shared = new Set<TypedNode>()
  const visit = (node: TypedNode) => {
    if (met.has(node) && waits(node)) shared.add(node)
    if (met.has(node)) return
    met.add(node)
    inputsOf(node).forEach(visit)
  }
  visit(root)
  return shared
}

/** Whether a node's result has to be waited for: how many rows there are is counted. */
export function waits(node: TypedNode): boolean {
  switch (node.op) {
    case 'scan':
      return false
    case 'project':
    case 'limit':
    case 'orderBy':
      return waits(node.input)
    case 'product':
      return waits(node.left) || waits(node.right)
    default:
      return true
  }
}
