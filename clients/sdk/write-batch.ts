import { badRequest } from '../../protocol/errors.js'
import { isList, shown } from '../../protocol/shown.js'
import {
  type IndexDefinition,
  type KeyType,
  type PayloadKind,
  payloadBytes,
  WriteOp,
} from '../../protocol/types.js'
import { ANYTHING, checkOptions, type Kinds } from './call-options.js'
import type { Key, Keys } from './keys.js'
import type { PayloadInput, PayloadsInput } from './payload-column.js'

/** A payload that a caller may give for an index of the kind. */
export type PayloadToStore<P extends PayloadKind> = P extends 'u32'
  ? number
  : P extends 'u64'
    ? bigint | number
    : Uint8Array | string

/** A mixed write as columns, or as lists. */
export interface MixedWrite<K extends KeyType> {
  /** A WriteOp an item. */
  readonly ops: Uint8Array | readonly WriteOp[]
  readonly keys: Keys<K>
  /** One an item; needed unless every item is deleteKey, for which it is ignored. */
  readonly payloads?: PayloadsInput | undefined
}

const FIELDS: Kinds<MixedWrite<KeyType>> = { ops: ANYTHING, keys: ANYTHING, payloads: ANYTHING }

/** An ordered mix of writes to one index, gathered item by item; `Index.write` applies it as a whole. */
export class WriteBatch<K extends KeyType, P extends PayloadKind> {
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

/** @throws WarpdexError `BAD_REQUEST` for what is no mixed write */
export function checkMixedWrite(batch: WriteBatch<KeyType, PayloadKind> | MixedWrite<KeyType>): void {
  if (batch instanceof WriteBatch) return
  if (typeof batch !== 'object' || batch === null || Array.isArray(batch)) {
    const right =
      'new WriteBatch().insert(key, payload).deleteKey(another), or columns as {ops, keys, payloads}'
    throw badRequest(`write takes a batch such as ${right}, not ${shown(batch)}`)
  }
  checkOptions(batch, FIELDS, 'write', 'field')
}

/** @throws WarpdexError `BAD_REQUEST` for what is no WriteOp, or not one for each of `count` keys */
export function opColumn(ops: Uint8Array | readonly WriteOp[], count: number): Uint8Array {
  if (!(ops instanceof Uint8Array) && !Array.isArray(ops)) {
    throw badRequest(`ops are a Uint8Array or a list of a WriteOp for each key, not ${shown(ops)}`)
  }
  if (ops.length !== count) throw badRequest(`${count} keys came with ${ops.length} ops; each needs one`)
  const unknown = ops.findIndex((op) => !CODES.includes(op))
  if (unknown < 0) return Uint8Array.from(ops)
  const right = Object.entries(WriteOp).map(([name, code]) => `WriteOp.${name} (${code})`)
  throw badRequest(`op ${unknown} is ${shown(ops[unknown])}; an op is one of ${right.join(', ')}`)
}

const CODES: readonly number[] = Object.values(WriteOp)

/** The payloads of a mixed write; in a list those of deletions of keys, which have none, are filled up. */
export function filledPayloads(
  payloads: MixedWrite<KeyType>['payloads'] | readonly (PayloadInput | undefined)[],
  ops: Uint8Array,
  { payloadKind }: IndexDefinition,
): PayloadsInput | undefined {
  if (!isList(payloads)) return payloads
  const none =
    payloadKind === 'u32' || payloadKind === 'u64' ? 0 : new Uint8Array(payloadBytes(payloadKind) ?? 0)
  // What is missing elsewhere is refused with the others.
  return Array.from(payloads, (payload, i) =>
    ops[i] === WriteOp.deleteKey ? none : payload,
  ) as PayloadInput[]
}
