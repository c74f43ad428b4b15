import type { Structure, TreeLayout } from '../../protocol/traversal.js'

/**
 * A layout with its structure settled: what the index's creator named, or what the index has that is there already, or else the
 * one that suits. In definitions a prefix tree is one without a structure.
 */
export function settleStructure(layout: TreeLayout, existing: TreeLayout | undefined): TreeLayout {
  const { structure: named, ...others } = layout
  const chosen = existing === undefined ? chooseStructure(layout) : structureOf(existing)
  return (named ?? chosen) === 'css' ? { ...others, structure: 'css' } : others
}

export function structureOf({ structure }: TreeLayout): Structure {
  return structure ?? 'prefix'
}

/** Why an index has its structure, in words for people. */
export function structureReason(layout: TreeLayout): string {
  if (layout.structure === 'css') {
    return 'a CSS-tree takes about half the memory of a prefix tree, and scans and numbers are faster to read; indexes are CSS-trees unless something else is asked for'
  }
  return asksForPrefixTree(layout)
    ? 'a layout, partitions or links were asked for, which only prefix trees have'
    : 'it was asked for, or there were no others when the index was made'
}

function chooseStructure(layout: TreeLayout): Structure {
  return asksForPrefixTree(layout) ? 'prefix' : 'css'
}

function asksForPrefixTree({ layout, allocation, partitionLevels, linked }: TreeLayout): boolean {
  return [layout, allocation, partitionLevels, linked].some((option) => option !== undefined)
}
