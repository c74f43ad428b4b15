import { type Column, sliceColumn } from '../../../protocol/columns.js'
import type { Explanation, ResultTables } from '../../../protocol/traversal.js'
import type { ReadRequest } from '../../index-structure.js'
import { explainSequential, type Traversals } from '../partitions/traversals.js'
import type { Get } from './get.js'
import type { ReadContext } from './read-context.js'
import type { Asked, ReadOperation, SearchedTree } from './read-operation.js'

/** How keys would be found, with the result tables of the first one (Volk, Tables 1 and 2). */
export class Explain implements ReadOperation<'explain'> {
  readonly #context: ReadContext
  /** Only where trees have partitions. */
  readonly #traversals: Traversals | undefined
  readonly #get: Get

  constructor(context: ReadContext, traversals: Traversals | undefined, get: Get) {
    this.#context = context
    this.#traversals = traversals
    this.#get = get
  }

  async run(
    tree: SearchedTree,
    { traversal }: ReadRequest<'explain'>,
    { keys }: Asked<'explain'>,
  ): Promise<Explanation> {
    const batch = this.#context.batch(keys)
    if (this.#traversals === undefined) return explainSequential(batch, tree.arena)
    const explanation = await this.#traversals.explain(tree.arena, tree.keys, batch, traversal)
    return { ...explanation, tables: await this.#tables(tree, keys) }
  }

  async #tables(tree: SearchedTree, keys: Column): Promise<ResultTables | null> {
    const { locator, device } = this.#context
    if (locator === undefined) return null
    const first = sliceColumn(keys, 0, 1)
    const { found } = await this.#get.run(
      { ...tree, plan: undefined },
      { op: 'get' },
      { keys: first, count: 1 },
    )
    return device.withScratch((scratch) => {
      const recorder = device.record()
      const queries = this.#context.queries(recorder, scratch, first)
      recorder.submit()
      return locator.tables(tree.arena, queries, found[0] === 1)
    })
  }
}
