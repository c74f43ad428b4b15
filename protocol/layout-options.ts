import { badRequest } from './errors.js'
import { LIMITS } from './limits.js'
import { quoted } from './shown.js'
import { ALLOCATIONS, LAYOUTS, type PartitionLevels, STRUCTURES, type TreeLayout } from './traversal.js'
import { parseChoice } from './traversal-options.js'

/**
 * A layout in its one form: what is as it would be by default is left out, so that layouts which are the same look the same. Only a
 * structure stays as it was named, since without a name the server chooses.
 *
 * @throws WarpdexError `BAD_REQUEST` that names what is right
 */
export function parseLayout(given: { readonly [Name in keyof TreeLayout]: unknown }): TreeLayout {
  const structure = parseChoice('structure', given.structure, STRUCTURES)
  const isCss = structure === 'css'
  const isFull = parseChoice('layout', given.layout, LAYOUTS) === 'full'
  const isCoalesced = parseChoice('allocation', given.allocation, ALLOCATIONS) === 'coalesced'
  const partitionLevels = parsePartitionLevels(given.partitionLevels)
  // Only prefix trees have partitions, so that whoever names what they have by default means one.
  const isPrefix = structure === undefined && partitionLevels === 'auto' && !isFull
  const isLinked = parseSwitch('linked', given.linked)
  if (isCoalesced && !isFull) {
    throw badRequest('allocation coalesced needs layout full; a compact tree allocates on demand')
  }
  if (isCss && (isFull || partitionLevels !== undefined || isLinked)) {
    const names = { layout: isFull, partitionLevels: partitionLevels !== undefined, linked: isLinked }
    const given = Object.entries(names).flatMap(([name, isGiven]) => (isGiven ? [name] : []))
    throw badRequest(`a CSS-tree has no ${given.join(', no ')}; leave that out, or use structure prefix`)
  }
  if (isFull && partitionLevels === 'none') {
    throw badRequest('a full tree has partitions; leave partition levels out, or use layout compact')
  }
  const isDefault = partitionLevels === undefined || partitionLevels === 'auto'
  return {
    ...(structure !== undefined && { structure }),
    ...(isPrefix && { structure: 'prefix' }),
    ...(isFull && { layout: 'full' }),
    ...(isCoalesced && { allocation: 'coalesced' }),
    ...(!isDefault && { partitionLevels }),
    ...(isLinked && { linked: true }),
  }
}

/** Whether two layouts, both as `parseLayout` gives them, are the same. */
export function sameLayout(one: TreeLayout, other: TreeLayout): boolean {
  return (
    (one.structure ?? 'prefix') === (other.structure ?? 'prefix') &&
    one.layout === other.layout &&
    one.allocation === other.allocation &&
    (one.partitionLevels ?? 'auto') === (other.partitionLevels ?? 'auto') &&
    one.linked === other.linked
  )
}

/** What of a layout is not as by default, in words for people. */
export function layoutWords({
  structure,
  layout,
  allocation,
  partitionLevels,
  linked,
}: TreeLayout): string[] {
  return [
    ...(structure === 'css' ? ['CSS-tree'] : []),
    ...(layout === undefined ? [] : [`${layout} layout`]),
    ...(allocation === undefined ? [] : [`${allocation} allocation`]),
    ...(partitionLevels === undefined ? [] : [`partition levels ${partitionLevels}`]),
    ...(linked === undefined ? [] : ['linked']),
  ]
}

function parsePartitionLevels(value: unknown): PartitionLevels | undefined {
  if (value === undefined || value === null) return undefined
  if (value === 'auto' || value === 'none') return value
  const isWhole = typeof value === 'number' && Number.isInteger(value)
  if (isWhole && value >= 1 && value <= LIMITS.partitionLevels) return value
  throw badRequest(
    `partition levels of ${quoted(value)} are not possible; use auto, none or a whole number from 1 to ${LIMITS.partitionLevels}`,
  )
}

function parseSwitch(name: string, value: unknown): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw badRequest(`${name} cannot be ${quoted(value)}; use true or false`)
}
