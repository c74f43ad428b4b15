import {
  asBytes,
  type Column,
  type ColumnConstructor,
  type CutColumn,
  columnOf,
  countOf,
  KEY_ARRAYS,
  type KeyArray,
  type KeyArrays,
  numberColumn,
  oneNumber,
  sliceColumn,
} from '../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { isIterable, isList, shown, titleOf } from '../../protocol/shown.js'
import { hasLoneSurrogate, type ScalarKey, TupleEncoder } from '../../protocol/tuple-key.js'
import {
  type FixedKeyType,
  type IndexDefinition,
  isFixedKeyType,
  isTupleKeyType,
  type KeyType,
  keyBytes,
  type ScalarKeyType,
  type TupleKeyType,
  tupleParts,
} from '../../protocol/types.js'
import { type Blob, isBlob } from './payload-column.js'

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

const encoder = new TextEncoder()

/**
 * The keys as a column.
 *
 * @param areEnds of ranges, which of tuples may be leading parts
 * @throws WarpdexError `WRONG_KEY_TYPE` for a column of another type, `BAD_REQUEST` for a key that the type cannot hold,
 * `TOO_LARGE` for one over `keyBytes`
 */
export function keyColumn(keys: AnyKeys, definition: IndexDefinition, areEnds = false): Column {
  const { keyType } = definition
  if (isFixedKeyType(keyType)) {
    return { bytes: asBytes(fixedColumn(keys, keyType, definition)), width: keyBytes(keyType) }
  }
  const rows = isList(keys) ? listRows(keys, definition, areEnds) : blobRows(keys, definition)
  for (let i = 1; i < rows.offsets.length; i++) {
    const length = rows.offsets[i] - rows.offsets[i - 1]
    if (length <= LIMITS.keyBytes) continue
    throw new WarpdexError('TOO_LARGE', `key ${i - 1} has ${length} bytes; ${LIMITS.keyBytes} are allowed`)
  }
  return rows
}

/**
 * The key of a call that takes one.
 *
 * @param what the method's name
 * @throws WarpdexError as `keyColumn` does
 */
export function singleKey(key: AnyKey, what: string, definition: IndexDefinition): Column {
  if (key === undefined || (Array.isArray(key) && !isTupleKeyType(definition.keyType))) {
    throw badRequest(
      `${what} takes a single key, such as ${example(definition)}, not ${shown(key)}; ${what}Many takes a list of keys`,
    )
  }
  const { keyType } = definition
  if (!isFixedKeyType(keyType)) return keyColumn([key], definition)
  const column = oneNumber(keyType, key)
  if (column === undefined) throw unfit([key], 0, definition)
  return column
}

function fixedColumn(keys: AnyKeys, keyType: FixedKeyType, definition: IndexDefinition): KeyArray {
  const Column: ColumnConstructor<KeyArray> = KEY_ARRAYS[keyType]
  if (keys instanceof Column) return keys
  if (!isList(keys)) throw wrongColumn(keys, definition, Column.name)
  return numberColumn(keyType, keys, (i) => unfit(keys, i, definition))
}

function blobRows(keys: KeyArray | Blob, definition: IndexDefinition): CutColumn {
  if (!isBlob(keys)) throw wrongColumn(keys, definition, '{bytes, offsets}')
  // Keys that came back may be a part of a longer column.
  return sliceColumn(keys, 0, countOf(keys))
}

function listRows(keys: readonly AnyKey[], definition: IndexDefinition, areEnds: boolean): CutColumn {
  const { keyType } = definition
  if (keyType === 'string') return textRows(keys, definition)
  if (isTupleKeyType(keyType)) {
    const parts = tupleParts(keyType)
    const encoder = new TupleEncoder(parts)
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]
      if (!isList(key) || (key.length < parts.length && !areEnds)) throw unfit(keys, i, definition)
      encoder.add(key)
    }
    return encoder.column()
  }
  return columnOf(
    Array.from(keys, (key, i) => {
      if (key instanceof Uint8Array) return key
      throw unfit(keys, i, definition)
    }),
  )
}

function textRows(keys: readonly AnyKey[], definition: IndexDefinition): CutColumn {
  let units = 0
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]
    if (typeof key !== 'string' || hasLoneSurrogate(key)) throw unfit(keys, i, definition)
    units += key.length
  }
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

/** One that is a column, but of something else, or no column and no list of keys. */
function wrongColumn(keys: unknown, definition: IndexDefinition, column: string): WarpdexError {
  const { name, keyType } = definition
  const list = `a list such as [${example(definition)}]`
  if (ArrayBuffer.isView(keys)) {
    const message = `keys are ${titleOf(keys)}; index "${name}" has ${keyType} keys, a ${column} or ${list}`
    return new WarpdexError('WRONG_KEY_TYPE', message)
  }
  const advice = adviceFor(keys)
  return badRequest(
    `keys of index "${name}" (${keyType}) are a ${column} or ${list}, not ${shown(keys)}${advice}`,
  )
}

function adviceFor(keys: unknown): string {
  if (typeof keys === 'string' || typeof keys === 'number' || typeof keys === 'bigint') {
    return `; a single key is a list of one, [${shown(keys)}], or is given to get, put, insert or delete`
  }
  return isIterable(keys) ? '; Array.from makes a list of it' : ''
}

/** What single keys of each type are, and one of them. */
const SINGLE: Readonly<Record<ScalarKeyType, readonly [right: string, example: string]>> = {
  u32: ['a whole number from 0 to 4294967295', '1'],
  i32: ['a whole number from -2147483648 to 2147483647', '1'],
  f32: ['a number', '1.5'],
  f64: ['a number', '1.5'],
  u64: ['a bigint from 0n to 2n ** 64n - 1n, or a whole number below 2 ** 53', '1n'],
  i64: ['a bigint from -(2n ** 63n) to 2n ** 63n - 1n, or a whole number within 2 ** 53', '1n'],
  string: ['a text, without half of a surrogate pair', '"a"'],
  bytes: ['a Uint8Array, which new TextEncoder().encode(text) makes of a text', 'Uint8Array.of(1)'],
}

function example({ keyType }: IndexDefinition): string {
  if (!isTupleKeyType(keyType)) return SINGLE[keyType][1]
  return `[${tupleParts(keyType)
    .map((part) => SINGLE[part][1])
    .join(', ')}]`
}

function unfit(keys: readonly AnyKey[], i: number, definition: IndexDefinition): WarpdexError {
  const { name, keyType } = definition
  const right = isTupleKeyType(keyType)
    ? `a list of its parts, such as ${example(definition)}`
    : SINGLE[keyType][0]
  return badRequest(
    `${shown(keys[i])} is not of type ${keyType}: key ${i} for index "${name}" must be ${right}`,
  )
}
