import {
  aligned,
  type ColumnConstructor,
  KEY_ARRAYS,
  type KeyArray,
  type KeyArrays,
} from '../../protocol/columns.js'
import { type Rows, rowAt } from '../../protocol/rows.js'
import { decodeTuple, type ScalarKey } from '../../protocol/tuple-key.js'
import {
  type FixedKeyType,
  isFixedKeyType,
  isTupleKeyType,
  type KeyType,
  tupleParts,
  type VariableKeyType,
} from '../../protocol/types.js'
import type { AnyKey, Key } from './keys.js'

/** Keys that came back: a typed array, or keys of variable length that are decoded when they are asked for. */
export type KeyVector<K extends KeyType> = K extends FixedKeyType
  ? KeyArrays[K]
  : K extends VariableKeyType
    ? StoredKeys<K>
    : never

/** Keys of variable length that came back. They are views of the reply's memory, which lives as long as they do. */
export class StoredKeys<K extends VariableKeyType> implements Iterable<Key<K>> {
  readonly length: number
  /** The keys one after the other: UTF-8, bytes, or tuples as they are encoded. */
  readonly bytes: Uint8Array
  /** Where in `bytes` each key starts, and the end of the last. */
  readonly offsets: Uint32Array
  readonly #type: VariableKeyType
  readonly #decode: (key: Uint8Array) => Exclude<AnyKey, number | bigint>

  constructor(type: VariableKeyType, bytes: Uint8Array, offsets: Uint32Array) {
    this.length = offsets.length - 1
    this.bytes = bytes
    this.offsets = offsets
    this.#type = type
    this.#decode = decoderOf(type)
  }

  /** Key number i. */
  at(i: number): Key<K> {
    // K is what the caller said of the index.
    return this.#decode(rowAt(this, undefined, i)) as Key<K>
  }

  /** Keys number `first` to before `end`, as views of the same memory. */
  subarray(first: number, end: number): StoredKeys<K> {
    return new StoredKeys<K>(this.#type, this.bytes, this.offsets.subarray(first, end + 1))
  }

  *[Symbol.iterator](): Iterator<Key<K>> {
    for (let i = 0; i < this.length; i++) yield this.at(i)
  }
}

/** A column of keys as callers get it. */
export function keyVector(type: KeyType, { bytes, offsets }: Rows): KeyArray | StoredKeys<VariableKeyType> {
  if (!isFixedKeyType(type)) return new StoredKeys(type, bytes, offsets ?? Uint32Array.of(0))
  const Column: ColumnConstructor<KeyArray> = KEY_ARRAYS[type]
  return aligned(bytes, Column)
}

const text = new TextDecoder('utf-8', { ignoreBOM: true })

function decoderOf(type: VariableKeyType): (key: Uint8Array) => string | Uint8Array | readonly ScalarKey[] {
  if (type === 'string') return (key) => text.decode(key)
  if (!isTupleKeyType(type)) return (key) => key
  const parts = tupleParts(type)
  return (key) => decodeTuple(parts, key)
}
