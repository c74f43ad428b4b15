import { WarpdexError } from './errors.js'
import { LIMITS } from './limits.js'

/** Fixed-width key types. Floats: -0 and +0 are one key (stored as +0), NaN is refused item by item. */
export const FIXED_KEY_TYPES = ['u32', 'i32', 'f32', 'u64', 'i64', 'f64'] as const
export type FixedKeyType = (typeof FIXED_KEY_TYPES)[number]

/** Key types of variable length: UTF-8 and any bytes, in the order of their bytes; tuples in the order of their parts. */
export type VariableKeyType = 'string' | 'bytes' | `tuple(${string})`
export type KeyType = FixedKeyType | VariableKeyType

/** Whether keys of a type have lengths of their own, so that a column of them comes with offsets. */
export function isVariable(type: KeyType): type is VariableKeyType {
  return !FIXED_KEY_TYPES.includes(type as FixedKeyType)
}

/** Bytes of one key on the wire: little-endian, as a typed array of that type lies in memory. */
export function keyBytes(type: FixedKeyType): 4 | 8 {
  return type.endsWith('64') ? 8 : 4
}

/** `u32`, `u64` and `fixed(n)` payloads lie on the device; `bytes` lie on the host under a row id. */
export type PayloadKind = 'u32' | 'u64' | 'bytes' | `fixed(${number})`

/** Bytes of one payload on the wire, or `undefined` for `bytes`, whose payloads come with an offsets section. */
export function payloadBytes(kind: PayloadKind): number | undefined {
  if (kind === 'u32') return 4
  if (kind === 'u64') return 8
  if (kind === 'bytes') return undefined
  return Number(kind.slice(6, -1))
}

export function parseKeyType(value: unknown): KeyType {
  if (KEY_TYPES.includes(value as KeyType)) return value as KeyType
  throw new WarpdexError(
    'BAD_REQUEST',
    `unknown key type ${JSON.stringify(value)}; use one of ${KEY_TYPES.join(', ')}`,
  )
}

export function parsePayloadKind(value: unknown): PayloadKind {
  if (value === 'u32' || value === 'u64' || value === 'bytes') return value
  const match = typeof value === 'string' ? /^fixed\(([1-9]\d{0,2})\)$/.exec(value) : null
  if (match !== null && Number(match[1]) <= LIMITS.fixedPayloadBytes) return value as PayloadKind
  throw new WarpdexError(
    'BAD_REQUEST',
    `unknown payload kind ${JSON.stringify(value)}; use u32, u64, bytes or fixed(n) with n from 1 to ${LIMITS.fixedPayloadBytes}`,
  )
}

/** What the creator of an index decides. */
export interface IndexDefinition {
  readonly name: string
  readonly keyType: KeyType
  readonly payloadKind: PayloadKind
  /** At most one payload a key. */
  readonly unique: boolean
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
