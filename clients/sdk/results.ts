import {
  aligned,
  type Column,
  countOf,
  KEY_ARRAYS,
  type KeyArray,
  type KeyArrays,
  sliceColumn,
  valueAt,
} from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { decodeTuple, type ScalarKey } from '../../protocol/tuple-key.js'
import {
  type FixedKeyType,
  isFixedKeyType,
  isTupleKeyType,
  type KeyType,
  type PayloadKind,
  tupleParts,
  type VariableKeyType,
} from '../../protocol/types.js'
import type { Key } from './keys.js'

/** Keys that came back: a typed array, or keys of variable length that are decoded when they are asked for. */
export type KeyVector<K extends KeyType> = K extends FixedKeyType
  ? KeyArrays[K]
  : K extends VariableKeyType
    ? StoredKeys<K>
    : never

/** Keys of variable length that came back: a column, which is a view of the reply's memory. Single keys are copied as single payloads are. */
export class StoredKeys<K extends VariableKeyType> implements Iterable<Key<K>> {
  readonly length: number
  /** The keys one after the other: UTF-8, bytes, or tuples as they are encoded. */
  readonly bytes: Uint8Array
  /** Where in `bytes` each key starts, and the end of the last. */
  readonly offsets: Uint32Array
  readonly #type: VariableKeyType
  readonly #decode: (key: Uint8Array) => string | Uint8Array | readonly ScalarKey[]

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
    return this.#decode(valueAt(this, i)) as Key<K>
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
export function keyVector(type: KeyType, { bytes, offsets }: Column): KeyArray | StoredKeys<VariableKeyType> {
  if (!isFixedKeyType(type)) return new StoredKeys(type, bytes, offsets ?? Uint32Array.of(0))
  return aligned<KeyArray>(bytes, KEY_ARRAYS[type])
}

const text = new TextDecoder('utf-8', { ignoreBOM: true })

function decoderOf(type: VariableKeyType): (key: Uint8Array) => string | Uint8Array | readonly ScalarKey[] {
  if (type === 'string') return (key) => text.decode(key)
  if (!isTupleKeyType(type)) return apart
  const parts = tupleParts(type)
  return (key) => decodeTuple(parts, key)
}

/** What JSON can say. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

/** One payload in JavaScript. */
export type Payload<P extends PayloadKind> = P extends 'u32'
  ? number
  : P extends 'u64'
    ? bigint
    : P extends 'text'
      ? string
      : P extends 'json'
        ? JsonValue
        : Uint8Array

/** A column of payloads: rows of n bytes for `fixed(n)`, and the payloads as they are stored, one after the other, for those of any length. */
export type PayloadArray<P extends PayloadKind> = P extends 'u32'
  ? Uint32Array
  : P extends 'u64'
    ? BigUint64Array
    : Uint8Array

/**
 * Payloads that came back. Columns are views of the reply's memory, which lives as long as they do. A single payload of bytes is a copy, unless it makes up
 * half of that memory or more: so whoever keeps it keeps at most twice its size.
 */
export class Payloads<P extends PayloadKind> implements Iterable<Payload<P>> {
  readonly length: number
  /** All payloads in one typed array. */
  readonly array: PayloadArray<P>
  /** Of those of any length: where in `array` each starts, and the end of the last. */
  readonly offsets: Uint32Array | undefined
  /** Payload number i. */
  readonly at: (i: number) => Payload<P>
  readonly #kind: PayloadKind
  readonly #column: Column

  /** @throws WarpdexError `INTERNAL` when the column does not fit together */
  constructor(kind: PayloadKind, column: Column) {
    const { bytes, offsets } = column
    const Numbers = kind === 'u32' ? Uint32Array : kind === 'u64' ? BigUint64Array : undefined
    const numbers = Numbers && aligned<Uint32Array | BigUint64Array>(bytes, Numbers)
    const read = readerOf(kind)
    const at = numbers ? (i: number) => numbers[i] : (i: number) => read(valueAt(column, i))
    this.length = countOf(column)
    // The kind is known only now; P is what the caller said of the index.
    this.array = (numbers ?? bytes) as PayloadArray<P>
    this.at = at as (i: number) => Payload<P>
    this.offsets = offsets
    this.#kind = kind
    this.#column = column
  }

  /** Payloads number `first` to before `end`, as views of the same memory. */
  part(first: number, end: number): Payloads<P> {
    const { bytes, offsets } = this.#column
    const part =
      offsets === undefined
        ? sliceColumn(this.#column, first, end)
        : { bytes, offsets: offsets.subarray(first, end + 1) }
    return new Payloads<P>(this.#kind, part)
  }

  *[Symbol.iterator](): Iterator<Payload<P>> {
    for (let i = 0; i < this.length; i++) yield this.at(i)
  }
}

function readerOf(kind: PayloadKind): (payload: Uint8Array) => string | Uint8Array | JsonValue {
  if (kind === 'text') return (payload) => text.decode(payload)
  return kind === 'json' ? parsed : apart
}

/** @throws WarpdexError `INTERNAL` for what another client has stored as bytes */
function parsed(payload: Uint8Array): JsonValue {
  try {
    return JSON.parse(text.decode(payload))
  } catch (cause) {
    throw new WarpdexError('INTERNAL', 'a payload of kind json is not JSON', { cause })
  }
}

/** The bytes, copied unless they are half of what they lie in. */
function apart(bytes: Uint8Array): Uint8Array {
  return 2 * bytes.byteLength >= bytes.buffer.byteLength ? bytes : bytes.slice()
}

/** The first payload of each key of a batch. */
export class GetResult<P extends PayloadKind> {
  readonly length: number
  /** Bit i of byte i >> 3 is set when key i has a payload. */
  readonly found: Uint8Array
  /** One payload a key: zeros, or no bytes, where there is none. */
  readonly payloads: Payloads<P>
  /** Sequence number of each payload among its key's, where they were asked for: with its key, where `getNextMany` goes on. */
  readonly sequences: Uint32Array | undefined

  constructor(found: Uint8Array, payloads: Payloads<P>, sequences?: Uint32Array) {
    this.length = payloads.length
    this.found = found
    this.payloads = payloads
    this.sequences = sequences
  }

  has(i: number): boolean {
    return isSet(this.found, i)
  }

  /** The payload of key i, or undefined. */
  payload(i: number): Payload<P> | undefined {
    return this.has(i) ? this.payloads.at(i) : undefined
  }
}

/** All payloads of each key of a batch. */
export class GetAllResult<P extends PayloadKind> {
  readonly length: number
  /** Those of key i are number offsets[i] to offsets[i + 1] of `payloads`. */
  readonly offsets: Uint32Array
  readonly payloads: Payloads<P>

  constructor(offsets: Uint32Array, payloads: Payloads<P>) {
    this.length = offsets.length - 1
    this.offsets = offsets
    this.payloads = payloads
  }

  /** The payloads of key i, in the order in which they were inserted. */
  of(i: number): Payload<P>[] {
    const first = this.offsets[i]
    return Array.from({ length: this.offsets[i + 1] - first }, (_, j) => this.payloads.at(first + j))
  }
}

/** Keys with a payload each, in columns. */
export class Entries<K extends KeyType, P extends PayloadKind> {
  readonly length: number
  readonly keys: KeyVector<K>
  readonly payloads: Payloads<P>

  constructor(keys: KeyVector<K>, payloads: Payloads<P>) {
    this.length = keys.length
    this.keys = keys
    this.payloads = payloads
  }

  /** Key number i. */
  key(i: number): Key<K> {
    // What holds keys of type K gives keys of that type.
    return this.keys.at(i) as Key<K>
  }
}

/** An entry that comes after a key, or before it. */
export interface NextEntry<K extends KeyType, P extends PayloadKind> {
  readonly key: Key<K>
  readonly payload: Payload<P>
  /** Its number among the key's payloads: with the key, where to continue. */
  readonly sequence: number
}

/** The entry after (or before) each key of a batch. */
export class NextResult<K extends KeyType, P extends PayloadKind> extends Entries<K, P> {
  /** Bit i of byte i >> 3 is set when there is an entry after key i. */
  readonly found: Uint8Array
  /** Sequence number of each entry among its key's payloads: with its key, where to continue. */
  readonly sequences: Uint32Array

  constructor(found: Uint8Array, keys: KeyVector<K>, payloads: Payloads<P>, sequences: Uint32Array) {
    super(keys, payloads)
    this.found = found
    this.sequences = sequences
  }

  has(i: number): boolean {
    return isSet(this.found, i)
  }

  /** The entry after key i, or undefined. */
  entry(i: number): NextEntry<K, P> | undefined {
    if (!this.has(i)) return undefined
    return { key: this.key(i), payload: this.payloads.at(i), sequence: this.sequences[i] }
  }
}

/** One page of a scan. */
export class ScanPage<K extends KeyType, P extends PayloadKind> extends Entries<K, P> {
  /** Where the page ends; a scan with it as `after` continues there, also much later. */
  readonly token: Uint8Array

  constructor(keys: KeyVector<K>, payloads: Payloads<P>, token: Uint8Array) {
    super(keys, payloads)
    this.token = token
  }

  at(i: number): ScanEntry<K, P> {
    return { key: this.key(i), payload: this.payloads.at(i) }
  }
}

export interface ScanEntry<K extends KeyType, P extends PayloadKind> {
  readonly key: Key<K>
  readonly payload: Payload<P>
}

/** The keys of one page of a scan without payloads, one for each payload. */
export class KeysPage<K extends KeyType> {
  readonly length: number
  readonly keys: KeyVector<K>
  /** As of a `ScanPage`. */
  readonly token: Uint8Array

  constructor(keys: KeyVector<K>, token: Uint8Array) {
    this.length = keys.length
    this.keys = keys
    this.token = token
  }

  at(i: number): Key<K> {
    // As in `Entries`.
    return this.keys.at(i) as Key<K>
  }
}

/** The payloads of one page of a scan without keys. */
export class ValuesPage<P extends PayloadKind> {
  readonly length: number
  readonly payloads: Payloads<P>
  /** As of a `ScanPage`. */
  readonly token: Uint8Array

  constructor(payloads: Payloads<P>, token: Uint8Array) {
    this.length = payloads.length
    this.payloads = payloads
    this.token = token
  }

  at(i: number): Payload<P> {
    return this.payloads.at(i)
  }
}

function isSet(bitmap: Uint8Array, i: number): boolean {
  return ((bitmap[i >> 3] >> (i & 7)) & 1) === 1
}
