import { ALLOCATIONS, LAYOUTS, STRUCTURES, type TreeLayout } from '../../protocol/traversal.js'
import { INSERT_MODES, type IndexDefinition, type InsertMode } from '../../protocol/types.js'
import { ANYTHING, FLAG, type Kind, type Kinds, oneOf, TEXT } from './check-options.js'
import { CREATE_OPTIONS, type CreateOptions, FIND_OPTIONS, type FindOptions } from './options.js'
import type { PayloadsInput } from './payload-column.js'

export interface NextOptions extends FindOptions {
  readonly reverse?: boolean | undefined
  /** One a key: the search continues within the payloads of the key, after that place. */
  readonly sequences?: Uint32Array | undefined
}

const PLACES: Kind = {
  is: (value) => value instanceof Uint32Array,
  right: 'a Uint32Array of a place for each key',
}

export const NEXT_OPTIONS: Kinds<NextOptions> = { reverse: FLAG, sequences: PLACES, ...FIND_OPTIONS }

export interface InsertOptions extends FindOptions {
  readonly mode?: InsertMode | undefined
}

export const INSERT_OPTIONS: Kinds<InsertOptions> = { mode: oneOf(INSERT_MODES), ...FIND_OPTIONS }

export interface DeleteOptions extends FindOptions {
  /** One a key: only those that equal it are deleted. */
  readonly payloads?: PayloadsInput | undefined
}

export const DELETE_OPTIONS: Kinds<DeleteOptions> = { payloads: ANYTHING, ...FIND_OPTIONS }

const LAYOUT_OPTIONS: Kinds<TreeLayout> = {
  structure: oneOf(STRUCTURES),
  layout: oneOf(LAYOUTS),
  allocation: oneOf(ALLOCATIONS),
  partitionLevels: {
    is: (value) => value === 'auto' || typeof value === 'number',
    right: 'auto or a number of levels',
  },
  linked: FLAG,
}

/** What a caller says of an index to be made. */
export const DEFINITION_FIELDS: Kinds<IndexDefinition> = {
  name: TEXT,
  keyType: TEXT,
  payloadKind: TEXT,
  unique: FLAG,
  ...LAYOUT_OPTIONS,
  of: {
    is: () => false,
    right: 'of no index that takes writes; relation(name).createIndex makes one over columns of a relation',
  },
}

export const RELATION_INDEX_OPTIONS: Kinds<CreateOptions & TreeLayout> = {
  ...CREATE_OPTIONS,
  ...LAYOUT_OPTIONS,
}

/** What an index was created as, out of what the server says of it. */
export function definitionOf(index: IndexDefinition): IndexDefinition {
  const names = Object.keys(DEFINITION_FIELDS)
  const fields = Object.entries(index).filter(([name]) => names.includes(name))
  // What is left out are figures.
  return Object.fromEntries(fields) as unknown as IndexDefinition
}
