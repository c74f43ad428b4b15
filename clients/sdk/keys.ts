import {
  asBytes,
  type ColumnConstructor,
  KEY_ARRAYS,
  type KeyArray,
  type KeyArrays,
} from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import type { Section } from '../../protocol/frame.js'
import { keySectionType } from '../../protocol/key-sections.js'
import { LIMITS } from '../../protocol/limits.js'
import { type Rows, rowsOf, sliceRows } from '../../protocol/rows.js'
import { hasLoneSurrogate, type ScalarKey, TupleEncoder } from '../../protocol/tuple-key.js'
import {
  type FixedKeyType,
  type IndexDefinition,
  isFixedKeyType,
  isTupleKeyType,
  type KeyType,
  type TupleKeyType,
  tupleParts,
} from '../../protocol/types.js'
import type { Blob } from './payload-column.js'

type ScalarOf<Type> = Type extends 'u64' | 'i64'
  ? bigint
  : Type extends 'string'
    ? string
    : Type extends 'bytes'
      ? Uint8Array
      : number

type PartsOf<Types extends string> = Types extends `${infer First},${infer Others}`
  ? readonly [ScalarOf<First>, ...PartsOf<Others>]
  : readonly [ScalarOf<Types>]

type TupleOf<Types extends string> = string extends Types ? readonly ScalarKey[] : PartsOf<Types>

type LeadingOf<Parts extends readonly ScalarKey[]> = Parts extends readonly [
  ...infer Leading extends readonly ScalarKey[],
  ScalarKey,
]
  ? Parts | LeadingOf<Leading>
  : Parts

/** One key in JavaScript; a tuple is an array of its parts, such as `[number, string]` for `tuple(u32,string)`. */
export type Key<K extends KeyType> = K extends `tuple(${infer Types})` ? TupleOf<Types> : ScalarOf<K>

/** A key that a caller may give. */
export type KeyInput<K extends KeyType> = K extends FixedKeyType ? number | bigint : Key<K>

/** Keys of a batch: a column of them, or a list of single keys, which costs work for each. */
export type Keys<K extends KeyType> = (K extends FixedKeyType ? KeyArrays[K] : Blob) | readonly KeyInput<K>[]

/** The end of a range: a key, or of a tuple its leading parts, which stand for all keys that begin with them. */
export type KeyEnd<K extends KeyType> = K extends TupleKeyType ? LeadingOf<Key<K>> : KeyInput<K>

/** What keys begin with: a text, bytes, or leading parts of a tuple. */
export type KeyPrefix<K extends KeyType> = K extends FixedKeyType ? never : KeyEnd<K>

/** Any keys of a batch. */
export type AnyKeys = KeyArray | Blob | readonly AnyKey[]
export type AnyKey = ScalarKey | readonly ScalarKey[]

/**
 * The keys as a column.
 *
 * @throws WarpdexError `WRONG_KEY_TYPE` for a column of another type, `BAD_REQUEST` for a key that the type cannot hold,
 * `TOO_LARGE` for one over `keyBytes`
 */
export function keyColumn(keys: AnyKeys, definition: IndexDefinition): Rows {
  const { keyType } = definition
  if (isFixedKeyType(keyType)) return { bytes: asBytes(fixedColumn(keys, keyType, definition)) }
  const rows = isList(keys) ? listRows(keys, definition) : blobRows(keys, definition)
  checkLengths(rows.offsets)
  if (!isTupleKeyType(keyType) || !isList(keys)) return rows
  const parts = tupleParts(keyType).length
  const short = keys.find((key) => Array.isArray(key) && key.length !== parts)
  if (short === undefined) return rows
  throw unfit(short, definition)
}

/**
 * Ends of ranges as a column. Of tuples they may be leading parts.
 *
 * @throws WarpdexError as `keyColumn` does
 */
export function endColumn(keys: AnyKeys, definition: IndexDefinition): Rows {
  if (!isList(keys) || !isTupleKeyType(definition.keyType)) return keyColumn(keys, definition)
  const rows = listRows(keys, definition)
  checkLengths(rows.offsets)
  return rows
}

/** Sections of a column of keys, or of ends of ranges. */
export function keySections(
  { bytes, offsets }: Rows,
  { keyType }: IndexDefinition,
  name: 'keys' | 'from' | 'to' = 'keys',
): Record<string, Section> {
  const section: Section = { type: keySectionType(keyType), bytes }
  if (offsets === undefined) return { [name]: section }
  const offsetsName = name === 'keys' ? 'keyOffsets' : `${name}Offsets`
  return { [offsetsName]: { type: 'u32', bytes: asBytes(offsets) }, [name]: section }
}

function isList(keys: AnyKeys): keys is readonly AnyKey[] {
  return Array.isArray(keys)
}

function fixedColumn(keys: AnyKeys, keyType: FixedKeyType, definition: IndexDefinition): KeyArray {
  const Column: ColumnConstructor<KeyArray> = KEY_ARRAYS[keyType]
  if (keys instanceof Column) return keys
  if (!isList(keys)) throw wrongColumn(keys, definition, Column.name)
  const column = new Column(new ArrayBuffer(keys.length * Column.BYTES_PER_ELEMENT), 0, keys.length)
  if (column instanceof BigUint64Array || column instanceof BigInt64Array)
    fillWith64Bits(column, keys, definition)
  else fillWithNumbers(column, keys, definition)
  return column
}

function fillWith64Bits(
  column: BigUint64Array | BigInt64Array,
  keys: readonly AnyKey[],
  definition: IndexDefinition,
): void {
  for (let i = 0; i < column.length; i++) {
    const key = keys[i]
    const whole = typeof key === 'number' && Number.isSafeInteger(key) ? BigInt(key) : key
    if (typeof whole !== 'bigint') throw unfit(key, definition)
    column[i] = whole
    if (column[i] !== whole) throw unfit(key, definition)
  }
}

function fillWithNumbers(
  column: Uint32Array | Int32Array | Float32Array | Float64Array,
  keys: readonly AnyKey[],
  definition: IndexDefinition,
): void {
  const rounds = definition.keyType === 'f32'
  for (let i = 0; i < column.length; i++) {
    const key = keys[i]
    if (typeof key !== 'number') throw unfit(key, definition)
    column[i] = key
    if (column[i] !== key && !rounds && !Object.is(column[i], key)) throw unfit(key, definition)
  }
}

type CutRows = Rows & { readonly offsets: Uint32Array }

function blobRows(keys: KeyArray | Blob, definition: IndexDefinition): CutRows {
  if (!('offsets' in keys)) throw wrongColumn(keys, definition, '{bytes, offsets}, or a list of keys')
  // Keys that came back may be a part of a longer column.
  const { bytes, offsets = keys.offsets } = sliceRows(keys, undefined, 0, keys.offsets.length - 1)
  return { bytes, offsets }
}

function listRows(keys: readonly AnyKey[], definition: IndexDefinition): CutRows {
  const { keyType } = definition
  if (keyType === 'string') return textRows(keys, definition)
  if (isTupleKeyType(keyType)) {
    const encoder = new TupleEncoder(tupleParts(keyType))
    for (const key of keys) {
      if (!isTuple(key)) throw unfit(key, definition)
      encoder.add(key)
    }
    return encoder.rows()
  }
  return rowsOf(
    keys.map((key) => {
      if (key instanceof Uint8Array) return key
      throw unfit(key, definition)
    }),
  )
}

function isTuple(key: AnyKey): key is readonly ScalarKey[] {
  return Array.isArray(key)
}

function textRows(keys: readonly AnyKey[], definition: IndexDefinition): CutRows {
  let units = 0
  for (const key of keys) {
    if (typeof key !== 'string' || hasLoneSurrogate(key)) throw unfit(key, definition)
    units += key.length
  }
  const encoder = new TextEncoder()
  // No UTF-16 unit takes more than three bytes.
  const bytes = new Uint8Array(3 * units)
  const offsets = new Uint32Array(keys.length + 1)
  let end = 0
  for (let i = 0; i < keys.length; i++) {
    end += encoder.encodeInto(String(keys[i]), bytes.subarray(end)).written
    offsets[i + 1] = end
  }
  return { bytes: bytes.subarray(0, end), offsets }
}

function checkLengths(offsets: Uint32Array): void {
  for (let i = 1; i < offsets.length; i++) {
    const length = offsets[i] - offsets[i - 1]
    if (length <= LIMITS.keyBytes) continue
    throw new WarpdexError('TOO_LARGE', `key ${i - 1} has ${length} bytes; ${LIMITS.keyBytes} are allowed`)
  }
}

function wrongColumn(keys: object, { name, keyType }: IndexDefinition, right: string): WarpdexError {
  return new WarpdexError(
    'WRONG_KEY_TYPE',
    `keys are a ${keys.constructor.name}; index "${name}" has ${keyType} keys, a ${right}`,
  )
}

function unfit(key: unknown, { name, keyType }: IndexDefinition): WarpdexError {
  const shown = typeof key === 'string' ? JSON.stringify(key.slice(0, 40)) : String(key).slice(0, 40)
  return new WarpdexError('BAD_REQUEST', `${shown} is no ${keyType}, which the keys of index "${name}" are`)
}
