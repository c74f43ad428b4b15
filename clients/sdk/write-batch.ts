import type { IndexDefinition } from '../../protocol/types.js'
import { type KeyType, type PayloadKind, payloadBytes, WriteOp } from '../../protocol/types.js'
import type { AnyKey, Key } from './keys.js'
import type { PayloadInput } from './payload-column.js'

/** A payload that a caller may give for an index of the kind. */
export type PayloadToStore<P extends PayloadKind> = P extends 'u32'
  ? number
  : P extends 'u64'
    ? bigint | number
    : Uint8Array | string

/** What a mixed write consists of, item by item. */
export interface WriteList {
  readonly ops: readonly WriteOp[]
  readonly keys: readonly AnyKey[]
  readonly payloads: readonly (PayloadInput | undefined)[]
}

/** An ordered mix of writes to one index, gathered item by item; `Index.write` applies it as a whole. */
export class WriteBatch<K extends KeyType, P extends PayloadKind> implements WriteList {
  readonly ops: WriteOp[] = []
  readonly keys: Key<K>[] = []
  readonly payloads: (PayloadToStore<P> | undefined)[] = []

  /** Adds a payload to the key; an item of a unique index that is there stays as it is. */
  insert(key: Key<K>, payload: PayloadToStore<P>): this {
    return this.#add(WriteOp.insert, key, payload)
  }

  /** Puts a payload in the place of all that the key has. */
  replace(key: Key<K>, payload: PayloadToStore<P>): this {
    return this.#add(WriteOp.replace, key, payload)
  }

  /** Adds a payload to a key that has none. */
  insertIfAbsent(key: Key<K>, payload: PayloadToStore<P>): this {
    return this.#add(WriteOp.insertIfAbsent, key, payload)
  }

  /** Deletes all payloads of the key. */
  deleteKey(key: Key<K>): this {
    return this.#add(WriteOp.deleteKey, key, undefined)
  }

  /** Deletes the payloads of the key that equal the given one. */
  deletePair(key: Key<K>, payload: PayloadToStore<P>): this {
    return this.#add(WriteOp.deletePair, key, payload)
  }

  #add(op: WriteOp, key: Key<K>, payload: PayloadToStore<P> | undefined): this {
    this.ops.push(op)
    this.keys.push(key)
    this.payloads.push(payload)
    return this
  }
}

/** The payloads of a mixed write, with something in the places of those that have none. */
export function filledPayloads(
  { payloads }: WriteList,
  { payloadKind }: IndexDefinition,
): readonly PayloadInput[] {
  const none =
    payloadKind === 'u32' || payloadKind === 'u64' ? 0 : new Uint8Array(payloadBytes(payloadKind) ?? 0)
  return payloads.map((payload) => payload ?? none)
}
