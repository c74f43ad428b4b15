import { type Column, sliceColumn } from '../../../protocol/columns.js'
import type { Explanation, ResultTables, Strategy } from '../../../protocol/traversal.js'
import type { ReadRequest } from '../../index-structure.js'
import { explainSequential, type Traversals } from '../partitions/traversals.js'
import type { ReadContext } from './read-context.js'
import type { Asked, ReadOperation, SearchedTree } from './read-operation.js'

/** How keys would be found, with the result tables of the first one (Volk, Tables 1 and 2). */
export class Explain implements ReadOperation<'explain'> {
  readonly #context: ReadContext
  /** Only where trees have partitions. */
  readonly #traversals: Traversals | undefined

  constructor(context: ReadContext, traversals: Traversals | undefined) {
    this.#context = context
    this.#traversals = traversals
  }

  async run(
    tree: SearchedTree,
    { traversal }: ReadRequest<'explain'>,
    { keys }: Asked<'explain'>,
  ): Promise<Explanation> {
    const batch = this.#context.batch(keys)
    if (this.#traversals === undefined) return explainSequential(batch, tree.arena)
    const explanation = await this.#traversals.explain(tree.arena, tree.keys, batch, traversal)
    return { ...explanation, tables: await this.#tables(tree, keys, explanation.strategy) }
  }

  async #tables({ arena }: SearchedTree, keys: Column, strategy: Strategy): Promise<ResultTables | null> {
    const { locator, device } = this.#context
    if (locator === undefined) return null
    return device.withScratch((scratch) => {
      const recorder = device.record()
      const queries = this.#context.queries(recorder, scratch, sliceColumn(keys, 0, 1))
      recorder.submit()
      return locator.tables(arena, queries, strategy)
    })
  }
}
