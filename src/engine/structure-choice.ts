import type { Structure, TreeLayout } from '../../protocol/traversal.js'

/** The structure of an index whose creator named none. */
export function chooseStructure(layout: TreeLayout): Structure {
  return asksForPrefixTree(layout) ? 'prefix' : 'css'
}

/** Why an index has its structure, in words for people. */
export function structureReason(layout: TreeLayout): string {
  if (layout.structure === 'css') {
    return 'sorted keys below a directory take less than half of the memory of a prefix tree and are scanned many times as fast; it is chosen unless something else is asked for'
  }
  return asksForPrefixTree(layout)
    ? 'a layout, partitions or links were asked for, which only prefix trees have'
    : 'it was asked for'
}

function asksForPrefixTree({ layout, allocation, partitionLevels, linked }: TreeLayout): boolean {
  return [layout, allocation, partitionLevels, linked].some((option) => option !== undefined)
}
