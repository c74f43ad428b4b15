import type { KeyType, PayloadKind } from '../../protocol/types.js'
import type { Key } from './keys.js'
import type { Payload, Payloads } from './payloads.js'
import type { KeyVector } from './stored-keys.js'

/** The first payload of each key of a batch. */
export class GetResult<P extends PayloadKind> {
  readonly length: number
  /** Bit i of byte i >> 3 is set when key i has a payload. */
  readonly found: Uint8Array
  /** One payload a key: zeros, or no bytes, where there is none. */
  readonly payloads: Payloads<P>

  constructor(found: Uint8Array, payloads: Payloads<P>) {
    this.length = payloads.length
    this.found = found
    this.payloads = payloads
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

/** The entry after (or before) each key of a batch. */
export class NextResult<K extends KeyType, P extends PayloadKind> extends Entries<K, P> {
  /** Bit i of byte i >> 3 is set when there is an entry after key i. */
  readonly found: Uint8Array
  /** Place of each entry among its key's payloads: with its key, where to continue. */
  readonly sequences: Uint32Array

  constructor(found: Uint8Array, keys: KeyVector<K>, payloads: Payloads<P>, sequences: Uint32Array) {
    super(keys, payloads)
    this.found = found
    this.sequences = sequences
  }

  has(i: number): boolean {
    return isSet(this.found, i)
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
}

function isSet(bitmap: Uint8Array, i: number): boolean {
  return ((bitmap[i >> 3] >> (i & 7)) & 1) === 1
}
