import { asBytes, countOf } from '../../protocol/columns.js'
import { badRequest, type WarpdexError } from '../../protocol/errors.js'
import type { Traversal } from '../../protocol/traversal.js'
import { Condition, type KeyType, type PayloadKind, WriteOp } from '../../protocol/types.js'
import { type AtomicPart, type EncodedPiece, piecesOf, writeParts } from './atomic-write.js'
import { ANYTHING, type Bounds, checkOptions, FLAG, type Kinds, NUMBER } from './call-options.js'
import type { Connection } from './connection.js'
import type { DataCall } from './data-call.js'
import { EXPIRY_OPTIONS, type ExpiryOptions, expiryColumn } from './expiry.js'
import { type IndexCalls, isSame, type KnownIndex, REOPENING } from './index-calls.js'
import { type AnyKey, type Key, keyColumn } from './keys.js'
import {
  DELETE_OPTIONS,
  type DeleteOptions,
  FIND_OPTIONS,
  type FindOptions,
  INSERT_MANY_OPTIONS,
  type InsertManyOptions,
  traversalOf,
} from './options.js'
import { noPayload, type PayloadInput, type PayloadToStore, payloadColumn } from './payload-column.js'
import { sendWrite } from './writes.js'

/** How an item of a batch is inserted. */
export type InsertItemOptions = Pick<InsertManyOptions, 'ifExists'> & ExpiryOptions
const INSERT_ITEM: Kinds<InsertItemOptions> = { ifExists: INSERT_MANY_OPTIONS.ifExists, ...EXPIRY_OPTIONS }

/** What an item of a batch deletes. */
export type DeleteItemOptions<P extends PayloadKind> = Pick<DeleteOptions<P>, 'payload'>
const DELETE_ITEM: Kinds<DeleteItemOptions<PayloadKind>> = { payload: DELETE_OPTIONS.payload }

/** What a key must be like before a batch is written: be there or not, or have a first payload, or one with a sequence number as `get` gives them. */
export type Expected<P extends PayloadKind> =
  | { readonly exists: boolean }
  | { readonly payload: PayloadToStore<P> }
  | { readonly sequence: number }

type AnyExpected = Partial<{ exists: boolean; payload: PayloadInput; sequence: number }>
const EXPECTED: Kinds<AnyExpected> = { exists: FLAG, payload: ANYTHING, sequence: NUMBER }

/** An ordered mix of writes to one index, gathered item by item, and what is expected of it. */
export class WriteBatch<K extends KeyType, P extends PayloadKind> {
  /** For those who write it. */
  readonly part: IndexPart
  readonly #calls: IndexCalls

  constructor(calls: IndexCalls) {
    this.#calls = calls
    this.part = new IndexPart(calls)
  }

  /** How many items it has. */
  get length(): number {
    return this.part.items
  }

  /** Puts a payload in the place of all that the key has. */
  put(key: Key<K>, payload: PayloadToStore<P>, options: ExpiryOptions = {}): this {
    checkOptions(options, EXPIRY_OPTIONS, 'put')
    return this.#add(WriteOp.replace, key, payload, options.expireAt)
  }

  /** Adds a payload as `Index.insert` does. */
  insert(key: Key<K>, payload: PayloadToStore<P>, options: InsertItemOptions = {}): this {
    checkOptions(options, INSERT_ITEM, 'insert')
    const { ifExists, expireAt } = options
    return this.#add(ifExists === 'keep' ? WriteOp.insertIfAbsent : WriteOp.insert, key, payload, expireAt)
  }

  /** Deletes all payloads of the key or, with `payload`, those that equal it. */
  delete(key: Key<K>, options: DeleteItemOptions<P> = {}): this {
    checkOptions(options, DELETE_ITEM, 'delete')
    const { payload } = options
    return this.#add(payload === undefined ? WriteOp.deleteKey : WriteOp.deletePair, key, payload)
  }

  /** Has the batch written only if the key is so before it, wherever in the batch this is called. */
  expect(key: Key<K>, expected: Expected<P>): this {
    checkOptions<AnyExpected>(expected, EXPECTED, 'expect')
    const { exists, payload, sequence }: AnyExpected = expected
    if ([exists, payload, sequence].filter((value) => value !== undefined).length !== 1)
      throw badRequest(`expect takes one of ${Object.keys(EXPECTED).join(', ')}`)
    if (payload !== undefined) this.part.expect(key, Condition.payload, payload)
    else if (sequence !== undefined) this.part.expect(key, Condition.sequence, sequence)
    else this.part.expect(key, exists === true ? Condition.present : Condition.absent, undefined)
    return this
  }

  /**
   * Applies the items in their order, all or none; see `Client.write` for several batches.
   *
   * @returns a ResultCode for each item
   * @throws WarpdexError also `CONDITION_FAILED` where a key is not as expected: the error's `item` is the number of the `expect`
   */
  write(options: FindOptions = {}): Promise<Uint8Array> {
    return this.#calls.begin('write', options, FIND_OPTIONS, (known, bounds) => {
      const traversal = traversalOf(options)
      // Several replica sets write it together only as a batch.
      if (!this.part.hasConditions && this.#calls.connection.replicaSets.length === 1)
        return sendWrite(this.#calls, this.part.writes(known, traversal), known, bounds)
      const written = writeParts(this.#calls.connection, [this.part], traversal, bounds)
      // The result of a part of an index.
      return written.then(([codes]) => codes as Uint8Array)
    })
  }

  #add(op: WriteOp, key: Key<K>, payload: PayloadInput | undefined, expireAt?: number): this {
    this.part.add(op, key, payload, expireAt)
    return this
  }
}

/** What a batch has for its index. */
class IndexPart implements AtomicPart {
  readonly connection: Connection
  readonly index: string
  readonly #calls: IndexCalls
  #known: KnownIndex | undefined
  readonly #ops: WriteOp[] = []
  readonly #keys: AnyKey[] = []
  readonly #payloads: (PayloadInput | undefined)[] = []
  readonly #expireAt: (number | undefined)[] = []
  readonly #conditions: Condition[] = []
  readonly #expectedKeys: AnyKey[] = []
  readonly #expected: unknown[] = []

  constructor(calls: IndexCalls) {
    this.#calls = calls
    this.connection = calls.connection
    this.index = calls.name
  }

  get items(): number {
    return this.#ops.length
  }

  get hasConditions(): boolean {
    return this.#conditions.length > 0
  }

  add(op: WriteOp, key: AnyKey, payload: PayloadInput | undefined, expireAt: number | undefined): void {
    this.#ops.push(op)
    this.#keys.push(key)
    this.#payloads.push(payload)
    this.#expireAt.push(expireAt)
  }

  /** @param value the payload or the sequence number, of conditions on these */
  expect(key: AnyKey, condition: Condition, value: unknown): void {
    this.#expectedKeys.push(key)
    this.#conditions.push(condition)
    this.#expected.push(value)
  }

  learn(bounds: Bounds, learnt: () => void): Promise<void> {
    const { definition } = this.#calls
    const learn = (known: KnownIndex) => {
      this.#known = known
      learnt()
    }
    if (definition.known === undefined) return definition.get(bounds).then(learn)
    learn(definition.known)
    return Promise.resolve()
  }

  async learnAgain(error: WarpdexError, bounds: Bounds): Promise<boolean> {
    if (!REOPENING.includes(error.code)) return false
    const before = this.#known
    this.#known = await this.#calls.latest(bounds)
    return before !== undefined && !isSame(before, this.#known)
  }

  async encode(traversal: Traversal | undefined, bounds: Bounds): Promise<readonly EncodedPiece[]> {
    // It was learnt before.
    const known = this.#known!
    const calls = [
      ...(this.hasConditions ? [this.#conditionsOf(known)] : []),
      ...(this.items > 0 ? [this.writes(known, traversal)] : []),
    ]
    return piecesOf(await this.connection.locate(calls, known, bounds))
  }

  writes(known: KnownIndex, traversal: Traversal | undefined): DataCall<'write'> {
    const keys = keyColumn(this.#keys, known)
    const count = countOf(keys)
    const none = noPayload(known)
    // What is missing elsewhere than of deletions of keys is refused with what does not fit.
    const filled = this.#payloads.map((payload, i) => (this.#ops[i] === WriteOp.deleteKey ? none : payload))
    const ops = { bytes: Uint8Array.from(this.#ops), width: 1 }
    const payloads = payloadColumn(filled, known, count)
    const expireAt = expiryColumn(this.#expireAt, count)
    return { op: 'write', traversal, count, columns: { ops, keys, payloads, expireAt } }
  }

  #conditionsOf(known: KnownIndex): DataCall<'expect'> {
    const keys = keyColumn(this.#expectedKeys, known)
    const count = countOf(keys)
    const valuesFor = (kind: Condition, none: unknown) =>
      this.#expected.map((value, i) => (this.#conditions[i] === kind ? value : none))
    const has = (kind: Condition) => this.#conditions.includes(kind)
    const sequences = valuesFor(Condition.sequence, 0).map(Number)
    const columns = {
      keys,
      conditions: { bytes: Uint8Array.from(this.#conditions), width: 1 },
      payloads: has(Condition.payload)
        ? payloadColumn(valuesFor(Condition.payload, noPayload(known)), known, count)
        : undefined,
      sequences: has(Condition.sequence)
        ? { bytes: asBytes(Uint32Array.from(sequences)), width: 4 }
        : undefined,
    }
    return { op: 'expect', count, columns }
  }
}
