import { badRequest } from './errors.js'
import type { SectionType } from './frame.js'
import { LIMITS } from './limits.js'
import { quoted } from './shown.js'
import type { TreeLayout } from './traversal.js'

/** Fixed-width key types. Floats: -0 and +0 are one key (stored as +0), NaN is refused item by item. */
export const FIXED_KEY_TYPES = ['u32', 'i32', 'f32', 'u64', 'i64', 'f64'] as const
export type FixedKeyType = (typeof FIXED_KEY_TYPES)[number]

/** What a part of a tuple may be, or a key by itself. Strings are UTF-8; they and bytes are in the order of their bytes. */
export const SCALAR_KEY_TYPES = [...FIXED_KEY_TYPES, 'string', 'bytes'] as const
export type ScalarKeyType = (typeof SCALAR_KEY_TYPES)[number]

/** Key types of variable length. Tuples, of 2 to 8 parts, are in the order of their first part, then of their second, and so on. */
export type VariableKeyType = 'string' | 'bytes' | TupleKeyType
export type TupleKeyType = `tuple(${string})`
export type KeyType = FixedKeyType | VariableKeyType

/** Characters of a type that messages show. */
const SHOWN = 80
const TUPLE_PARTS = { least: 2, most: 8 }

/** Bytes of one key on the wire: little-endian, as a typed array of that type lies in memory. */
const KEY_BYTES = { u32: 4, i32: 4, f32: 4, u64: 8, i64: 8, f64: 8 } as const

export function isFixedKeyType(type: KeyType): type is FixedKeyType {
  return Object.hasOwn(KEY_BYTES, type)
}

export function isTupleKeyType(type: KeyType): type is TupleKeyType {
  return type.startsWith('tuple(')
}

export function keyBytes(type: FixedKeyType): 4 | 8 {
  return KEY_BYTES[type]
}

/** Bytes of one key on the wire, or `undefined` for keys of variable length, which come with an offsets section. */
export function keyWidth(type: KeyType): 4 | 8 | undefined {
  return isFixedKeyType(type) ? KEY_BYTES[type] : undefined
}

/** The type of a column of keys as it travels: keys of variable length are bytes, cut by offsets. */
export function wireKeyType(type: KeyType): SectionType {
  return isFixedKeyType(type) ? type : 'bytes'
}

/** Bytes of the sequence number that follows the key in a scan's token. */
export const SEQUENCE_BYTES = 4

/** Bytes of a scan's token, a key and the number behind it, where keys have a width. */
export function tokenWidth(type: KeyType): number | undefined {
  return isFixedKeyType(type) ? KEY_BYTES[type] + SEQUENCE_BYTES : undefined
}

/** The types of a tuple's parts. */
export function tupleParts(type: TupleKeyType): readonly ScalarKeyType[] {
  // `parseKeyType` lets no other names through.
  return type.slice('tuple('.length, -1).split(',') as ScalarKeyType[]
}

/** Kinds of payloads of any length: bytes, which clients read as such, as UTF-8, or as JSON in UTF-8. */
const VARIABLE_PAYLOAD_KINDS = ['bytes', 'text', 'json'] as const
export type VariablePayloadKind = (typeof VARIABLE_PAYLOAD_KINDS)[number]

/** `u32`, `u64` and `fixed(n)` payloads lie on the device; those of any length on the host under a row id. */
export type PayloadKind = 'u32' | 'u64' | VariablePayloadKind | `fixed(${number})`

/** Bytes of one payload on the wire, or `undefined` for those of any length, which come with an offsets section. */
export function payloadBytes(kind: PayloadKind): number | undefined {
  if (kind === 'u32') return 4
  if (kind === 'u64') return 8
  return kind.startsWith('fixed(') ? Number(kind.slice(6, -1)) : undefined
}

/**
 * A key type in its one spelling: a tuple's without blanks.
 *
 * @throws WarpdexError `BAD_REQUEST`
 */
export function parseKeyType(value: unknown): KeyType {
  const scalar = scalarKeyType(value)
  if (scalar !== undefined) return scalar
  const names =
    typeof value === 'string' ? /^\s*tuple\s*\((.*)\)\s*$/s.exec(value)?.[1].split(',') : undefined
  const { least, most } = TUPLE_PARTS
  if (names === undefined) {
    throw badRequest(
      `unknown key type ${quoted(value, SHOWN)}; use one of ${SCALAR_KEY_TYPES.join(', ')}, or a tuple of them such as tuple(u32,string)`,
    )
  }
  if (names.length < least || names.length > most) {
    throw badRequest(`${quoted(value, SHOWN)} has ${names.length} parts; a tuple has ${least} to ${most}`)
  }
  const parts = names.map((name) => {
    const part = scalarKeyType(name.trim())
    if (part !== undefined) return part
    throw badRequest(
      `${quoted(name.trim(), SHOWN)} is not a type of a tuple's part; use one of ${SCALAR_KEY_TYPES.join(', ')}`,
    )
  })
  return `tuple(${parts.join(',')})`
}

function scalarKeyType(value: unknown): ScalarKeyType | undefined {
  return SCALAR_KEY_TYPES.find((type) => type === value)
}

export function parsePayloadKind(value: unknown): PayloadKind {
  const plain = (['u32', 'u64', ...VARIABLE_PAYLOAD_KINDS] as const).find((kind) => kind === value)
  if (plain !== undefined) return plain
  const match = typeof value === 'string' ? /^fixed\(([1-9]\d{0,2})\)$/.exec(value) : null
  if (match !== null && Number(match[1]) <= LIMITS.fixedPayloadBytes) return value as PayloadKind
  throw badRequest(
    `unknown payload kind ${JSON.stringify(value)}; use u32, u64, bytes, text, json or fixed(n) with n from 1 to ${LIMITS.fixedPayloadBytes}`,
  )
}

/** What the creator of an index decides. */
export interface IndexDefinition<K extends KeyType = KeyType, P extends PayloadKind = PayloadKind>
  extends TreeLayout {
  readonly name: string
  readonly keyType: K
  readonly payloadKind: P
  /** At most one payload a key. */
  readonly unique: boolean
  /**
   * Seconds after which entries expire of whose writes none says when; with 0 these stay. Entries of an index without it never expire, and take
   * no room for that.
   */
  readonly ttl?: number | undefined
  /** Where its keys are, in a cluster of several replica sets: ranges in ascending order, each on another one. */
  readonly placement?: readonly PlacedRange[] | undefined
  /** What its keys are, where it is an index over columns of a relation; its payloads are numbers of rows. */
  readonly of?: IndexSource | undefined
}

/** A range of keys, and the replica set of a cluster that has it. */
export interface PlacedRange {
  readonly set: number
  /** Its first key as it travels, in hexadecimal digits; absent of the first range, which begins with the smallest key. */
  readonly from?: string | undefined
}

/** Columns of a relation that an index is over. */
export interface IndexSource {
  readonly relation: string
  readonly columns: readonly string[]
}

/** Outcome of one item of a write batch, one byte an item on the wire. */
export const ResultCode = {
  inserted: 0,
  replaced: 1,
  /** Not inserted: the key is there already (unique index, or mode `ifAbsent`). */
  exists: 2,
  deleted: 3,
  notFound: 4,
  /** Refused: NaN is no key. */
  notANumber: 5,
} as const
export type ResultCode = (typeof ResultCode)[keyof typeof ResultCode]

/** Kind of one item of a `write` batch, one byte an item on the wire. */
export const WriteOp = {
  insert: 0,
  replace: 1,
  insertIfAbsent: 2,
  deleteKey: 3,
  deletePair: 4,
} as const
export type WriteOp = (typeof WriteOp)[keyof typeof WriteOp]

/** What a key must be like for a batch to be made: without a payload, with one, with this first payload, or with a first one of this sequence number. */
export const Condition = {
  absent: 0,
  present: 1,
  payload: 2,
  sequence: 3,
} as const
export type Condition = (typeof Condition)[keyof typeof Condition]

/** What an insert does with a key that is there already; the first is the default. */
export const INSERT_MODES = ['append', 'replace', 'ifAbsent'] as const
export type InsertMode = (typeof INSERT_MODES)[number]

/** What an insert of each mode does with an item. */
export const MODE_OPS: { readonly [Mode in InsertMode]: WriteOp } = {
  append: WriteOp.insert,
  replace: WriteOp.replace,
  ifAbsent: WriteOp.insertIfAbsent,
}
