import { WarpdexError } from '../../protocol/errors.js'
import { parseLayout, sameLayout } from '../../protocol/layout-options.js'
import { pickColumns, type RelationDefinition } from '../../protocol/relation.js'
import type { Structure, TreeLayout } from '../../protocol/traversal.js'
import { type IndexDefinition, parseKeyType } from '../../protocol/types.js'
import { keyTypeOf } from './relation-indexes.js'

/** What the creator of an index over columns decides. */
export interface RelationIndexDefinition extends TreeLayout {
  readonly name: string
  readonly relation: string
  readonly columns: readonly string[]
}

/**
 * The definition of an index over columns: its keys are the values of one, or tuples of those of several.
 * @throws WarpdexError `BAD_REQUEST` for columns that the relation lacks, none, or too many
 */
export function definitionOver(
  definition: RelationDefinition,
  { relation, columns: names, ...others }: RelationIndexDefinition,
): IndexDefinition {
  const columns = pickColumns(definition, names)
  if (columns.length === 0) throw new WarpdexError('BAD_REQUEST', 'an index needs one column at least')
  const keyType = parseKeyType(keyTypeOf(columns))
  return { ...others, keyType, payloadKind: 'u32', unique: false, of: { relation, columns: names } }
}

/**
 * A definition as it is stored, with a layout in its one form.
 * @param existing that of the index of that name, should there be one
 * @throws WarpdexError `BAD_REQUEST` for a layout that is none
 */
export function settleDefinition(
  given: IndexDefinition,
  existing: IndexDefinition | undefined,
): IndexDefinition {
  const { name, keyType, payloadKind, unique, ttl, placement, of } = given
  const form = settleStructure(parseLayout(given), existing)
  const expiry = ttl === undefined ? {} : { ttl }
  return {
    name,
    keyType,
    payloadKind,
    unique,
    ...expiry,
    ...(placement && { placement }),
    ...(of && { of }),
    ...form,
  }
}

export function sameDefinition(one: IndexDefinition, other: IndexDefinition): boolean {
  return (
    one.keyType === other.keyType &&
    one.payloadKind === other.payloadKind &&
    one.unique === other.unique &&
    one.ttl === other.ttl &&
    JSON.stringify(one.placement) === JSON.stringify(other.placement) &&
    JSON.stringify(one.of) === JSON.stringify(other.of) &&
    sameLayout(one, other)
  )
}

export function sameRelation(
  { columns, spread }: RelationDefinition,
  { columns: others, spread: other }: RelationDefinition,
): boolean {
  return (
    spread === other &&
    columns.length === others.length &&
    columns.every(({ name, type, nullable }, i) => {
      const other = others[i]
      return name === other.name && type === other.type && nullable === other.nullable
    })
  )
}

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
