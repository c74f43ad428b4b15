import {
  asBytes,
  type ColumnConstructor,
  KEY_ARRAYS,
  type KeyArray,
  type KeyArrays,
} from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import type { Section } from '../../protocol/frame.js'
import type { IndexDefinition, KeyType } from '../../protocol/types.js'

/** One key in JavaScript. */
export type Key<K extends KeyType> = K extends 'u64' | 'i64' ? bigint : number

/** Keys of a batch: the typed array of the key type, or a list of single keys, which costs work for each. */
export type Keys<K extends KeyType> = KeyArrays[K] | readonly (number | bigint)[]

/**
 * The keys as a column.
 *
 * @throws WarpdexError `WRONG_KEY_TYPE` for a typed array of another type, `BAD_REQUEST` for a key that the type cannot hold
 */
export function keyColumn(
  keys: KeyArray | readonly (number | bigint)[],
  definition: IndexDefinition,
): KeyArray {
  const Column: ColumnConstructor<KeyArray> = KEY_ARRAYS[definition.keyType]
  if (keys instanceof Column) return keys
  if (!Array.isArray(keys)) {
    throw new WarpdexError(
      'WRONG_KEY_TYPE',
      `keys are a ${keys.constructor.name}; index "${definition.name}" has ${definition.keyType} keys, a ${Column.name}`,
    )
  }
  const column = new Column(new ArrayBuffer(keys.length * Column.BYTES_PER_ELEMENT), 0, keys.length)
  if (column instanceof BigUint64Array || column instanceof BigInt64Array)
    fillWith64Bits(column, keys, definition)
  else fillWithNumbers(column, keys, definition)
  return column
}

/** A column of keys as a section. */
export function keySection(keys: ArrayBufferView, { keyType }: IndexDefinition): Section {
  return { type: keyType, bytes: asBytes(keys) }
}

function fillWith64Bits(
  column: BigUint64Array | BigInt64Array,
  keys: readonly (number | bigint)[],
  definition: IndexDefinition,
): void {
  for (let i = 0; i < column.length; i++) {
    const key = keys[i]
    if (typeof key !== 'bigint' && !Number.isSafeInteger(key)) throw unfit(key, definition)
    column[i] = BigInt(key)
    if (column[i] !== BigInt(key)) throw unfit(key, definition)
  }
}

function fillWithNumbers(
  column: Uint32Array | Int32Array | Float32Array | Float64Array,
  keys: readonly (number | bigint)[],
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

function unfit(key: unknown, { name, keyType }: IndexDefinition): WarpdexError {
  return new WarpdexError(
    'BAD_REQUEST',
    `${String(key)} is no ${keyType}, which the keys of index "${name}" are`,
  )
}
