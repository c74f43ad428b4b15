import { WarpdexError } from './errors.js'
import type { Section, SectionType } from './frame.js'
import { LIMITS } from './limits.js'
import { type RowRules, requireOffsets } from './offsets.js'
import { type Rows, rowAt, rowCount } from './rows.js'
import { tupleFault } from './tuple-key.js'
import {
  type IndexDefinition,
  isFixedKeyType,
  isTupleKeyType,
  type KeyType,
  keyWidth,
  tupleParts,
} from './types.js'
import { areUtf8, isUtf8 } from './utf8.js'

/** Bytes of the sequence number that follows the key in a scan's token. */
export const SEQUENCE_BYTES = 4

/** Keys of a request. */
export interface KeySections {
  readonly keys: Section
  /** Only for keys of variable length. */
  readonly keyOffsets?: Section | undefined
}

/** Ends of a request's ranges, and places to continue after; an absent one leaves that end of every range open. */
export interface RangeSections {
  readonly from?: Section | undefined
  readonly fromOffsets?: Section | undefined
  readonly to?: Section | undefined
  readonly toOffsets?: Section | undefined
  readonly tokens?: Section | undefined
  readonly tokenOffsets?: Section | undefined
}

/** The type of a section with keys: keys of variable length are bytes, cut by offsets. */
export function keySectionType(type: KeyType): SectionType {
  return isFixedKeyType(type) ? type : 'bytes'
}

/**
 * A column of keys of the index, each as it must be: strings are UTF-8, tuples are whole.
 *
 * @throws WarpdexError `WRONG_KEY_TYPE` when the section's type is not that of the index's keys, `TOO_LARGE` over `batchItems` or
 * `keyBytes`, `BAD_REQUEST`
 */
export function requireKeys({ keys, keyOffsets }: KeySections, definition: IndexDefinition): Rows {
  const column = keyColumn(keys, keyOffsets, definition, 'keys', 'keyOffsets')
  checkKeys(column, definition.keyType)
  return column
}

/**
 * A column of ends of ranges. Those of variable length may be any bytes: there is one behind all keys with the same beginning.
 *
 * @throws WarpdexError as `requireKeys` does
 */
export function optionalEnds(
  sections: RangeSections,
  what: 'from' | 'to',
  definition: IndexDefinition,
): Rows | undefined {
  const offsetsName = `${what}Offsets` as const
  const offsets = sections[offsetsName]
  const ends = ownerOf(sections[what], what, offsets, offsetsName)
  return ends && keyColumn(ends, offsets, definition, what, offsetsName)
}

/**
 * Positions of a scan: keys, each with a sequence number behind it.
 *
 * @throws WarpdexError `BAD_REQUEST`, `TOO_LARGE`
 */
export function optionalTokens(sections: RangeSections, { keyType }: IndexDefinition): Rows | undefined {
  const offsets = sections.tokenOffsets
  const tokens = ownerOf(sections.tokens, 'tokens', offsets, 'tokenOffsets')
  const rules = { section: 'tokens', offsets: 'tokenOffsets', row: 'token' }
  const most = LIMITS.keyBytes + SEQUENCE_BYTES
  return tokens && cut(tokens, offsets, keyType, { ...rules, least: SEQUENCE_BYTES, most })
}

function keyColumn(
  section: Section,
  offsets: Section | undefined,
  { name, keyType }: IndexDefinition,
  what: string,
  offsetsName: string,
): Rows {
  const type = keySectionType(keyType)
  if (section.type !== type) {
    const right = type === keyType ? keyType : `${keyType}, which are sent as ${type}`
    const message = `section "${what}" is ${section.type}; the keys of index "${name}" are ${right}`
    throw new WarpdexError('WRONG_KEY_TYPE', message)
  }
  const rules = { section: what, offsets: offsetsName, row: 'key', most: LIMITS.keyBytes }
  const column = cut(section, offsets, keyType, rules)
  const count = rowCount(column, keyWidth(keyType))
  if (!Number.isInteger(count)) throw bad(`section "${what}" is cut off within a key`)
  if (count > LIMITS.batchItems) {
    throw new WarpdexError('TOO_LARGE', `a request has ${count} ${what}; ${LIMITS.batchItems} are allowed`)
  }
  return column
}

/** The section that has the offsets, if either is there. */
function ownerOf(
  section: Section | undefined,
  name: string,
  offsets: Section | undefined,
  offsetsName: string,
): Section | undefined {
  if (section !== undefined || offsets === undefined) return section
  throw bad(`section "${offsetsName}" needs a section "${name}"`)
}

function cut(section: Section, offsets: Section | undefined, keyType: KeyType, rules: RowRules): Rows {
  if (isFixedKeyType(keyType)) {
    if (offsets === undefined) return { bytes: section.bytes }
    throw bad(`keys of type ${keyType} take no section "${rules.offsets}"`)
  }
  if (offsets === undefined) {
    throw bad(`keys of type ${keyType} need a section "${rules.offsets}" beside "${rules.section}"`)
  }
  return { bytes: section.bytes, offsets: requireOffsets(section, offsets, rules) }
}

function checkKeys(column: Rows, keyType: KeyType): void {
  const { bytes, offsets } = column
  if (offsets === undefined || keyType === 'bytes') return
  if (keyType === 'string' && areUtf8(bytes, offsets)) return
  const parts = isTupleKeyType(keyType) ? tupleParts(keyType) : undefined
  const count = rowCount(column, undefined)
  for (let i = 0; i < count; i++) {
    const key = rowAt(column, undefined, i)
    const fault = parts === undefined ? textFault(key) : tupleFault(parts, key)
    if (fault !== undefined) throw bad(`key ${i} is no ${keyType}: ${fault}`)
  }
}

function textFault(key: Uint8Array): string | undefined {
  return isUtf8(key) ? undefined : 'its bytes are no UTF-8'
}

function bad(message: string): WarpdexError {
  return new WarpdexError('BAD_REQUEST', message)
}
