import { countOf } from '../../protocol/columns.js'
import { type IndexDefinition, type KeyType, type PayloadKind, WriteOp } from '../../protocol/types.js'
import { checkOptions, type Kinds } from './call-options.js'
import type { IndexCalls } from './index-calls.js'
import { type Key, keyColumn } from './keys.js'
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
type InsertItemOptions = Pick<InsertManyOptions, 'ifExists'>
const INSERT_ITEM: Kinds<InsertItemOptions> = { ifExists: INSERT_MANY_OPTIONS.ifExists }

/** What an item of a batch deletes. */
type DeleteItemOptions<P extends PayloadKind> = Pick<DeleteOptions<P>, 'payload'>
const DELETE_ITEM: Kinds<DeleteItemOptions<PayloadKind>> = { payload: DELETE_OPTIONS.payload }

/** An ordered mix of writes to one index, gathered item by item. */
export class WriteBatch<K extends KeyType, P extends PayloadKind> {
  readonly #calls: IndexCalls
  readonly #ops: WriteOp[] = []
  readonly #keys: Key<K>[] = []
  readonly #payloads: (PayloadInput | undefined)[] = []

  constructor(calls: IndexCalls) {
    this.#calls = calls
  }

  /** How many items it has. */
  get length(): number {
    return this.#ops.length
  }

  /** Puts a payload in the place of all that the key has. */
  put(key: Key<K>, payload: PayloadToStore<P>): this {
    return this.#add(WriteOp.replace, key, payload)
  }

  /** Adds a payload as `Index.insert` does. */
  insert(key: Key<K>, payload: PayloadToStore<P>, options: InsertItemOptions = {}): this {
    checkOptions(options, INSERT_ITEM, 'insert')
    return this.#add(options.ifExists === 'keep' ? WriteOp.insertIfAbsent : WriteOp.insert, key, payload)
  }

  /** Deletes all payloads of the key or, with `payload`, those that equal it. */
  delete(key: Key<K>, options: DeleteItemOptions<P> = {}): this {
    checkOptions(options, DELETE_ITEM, 'delete')
    const { payload } = options
    return this.#add(payload === undefined ? WriteOp.deleteKey : WriteOp.deletePair, key, payload)
  }

  /**
   * Applies the items in their order, all or none.
   *
   * @returns a ResultCode for each item
   */
  write(options: FindOptions = {}): Promise<Uint8Array> {
    return this.#calls.begin('write', options, FIND_OPTIONS, (known, bounds) => {
      const keys = keyColumn(this.#keys, known)
      const count = countOf(keys)
      const ops = { bytes: Uint8Array.from(this.#ops), width: 1 }
      const columns = { ops, keys, payloads: payloadColumn(this.#filledPayloads(known), known, count) }
      const write = { op: 'write', traversal: traversalOf(options), count, columns } as const
      return sendWrite(this.#calls, write, known, bounds)
    })
  }

  #add(op: WriteOp, key: Key<K>, payload: PayloadInput | undefined): this {
    this.#ops.push(op)
    this.#keys.push(key)
    this.#payloads.push(payload)
    return this
  }

  /** The payloads, with something in the place of those that deletions of keys have none of. */
  #filledPayloads(definition: IndexDefinition): PayloadInput[] {
    const none = noPayload(definition)
    // What is missing elsewhere is refused with what does not fit.
    return this.#payloads.map((payload, i) =>
      this.#ops[i] === WriteOp.deleteKey ? none : payload,
    ) as PayloadInput[]
  }
}
