import type { DeviceMemory } from '../../gpu/memory/page-run.js'
import type { Table } from '../../gpu/relational/query/table.js'
import type { TypedNode } from '../../protocol/query/typed.js'
import { sharedNodes } from './shared-nodes.js'

/** Results of nodes that are inputs of several others: each is made once, by whoever asks first, and held to the end. */
export class SharedTables {
  #nodes: ReadonlySet<TypedNode> = new Set()
  readonly #made = new Map<TypedNode, Promise<Table>>()
  readonly #held = new Set<Table>()

  /** The tree that is carried out. */
  set root(root: TypedNode) {
    this.#nodes = sharedNodes(root)
  }

  has(node: TypedNode): boolean {
    return this.#nodes.has(node)
  }

  /** What is made once. It is made anew where that failed, since there may be more memory then. */
  async of(node: TypedNode, make: () => Promise<Table>): Promise<Table> {
    const made = this.#made.get(node) ?? make()
    this.#made.set(node, made)
    try {
      const table = await made
      this.#held.add(table)
      return table
    } catch (error) {
      this.#made.delete(node)
      throw error
    }
  }

  *buffers(): Generator<DeviceMemory> {
    for (const table of this.#held) yield* table.buffers()
  }
}
