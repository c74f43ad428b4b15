import type { NamedColumn, StructureEntries } from '../../index-structure.js'
import type { FrozenEntries } from '../tree-state.js'

/** What trees over neighbouring ranges of keys held, as one index. */
export function structureEntries(trees: readonly FrozenEntries[]): StructureEntries {
  const sum = (figure: (tree: FrozenEntries) => number) =>
    trees.reduce((total, tree) => total + figure(tree), 0)
  async function* columns(): AsyncGenerator<NamedColumn> {
    let group = 0
    for (const tree of trees) if (tree.columns !== undefined) group = yield* tree.columns(group)
  }
  return {
    meta: { keys: sum(({ keys }) => keys), payloads: sum(({ payloads }) => payloads) },
    columns: columns(),
    release: () => {
      for (const tree of trees) tree.release()
    },
  }
}
