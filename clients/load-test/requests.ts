import type { DataSet } from './data-set.js'
import { type Chooser, chooser } from './distributions.js'
import type { Items } from './items.js'
import type { LoadTestOptions } from './options.js'
import { Random } from './random.js'
import type { KeyColumn } from './target.js'
import { OPERATIONS, type Operation, workload } from './workloads.js'

/** A request that is to be made. Its memory is that of its lane, until the lane's next one. */
export interface Request {
  readonly operation: Operation
  readonly items: Uint32Array
  readonly keys: KeyColumn
  /** Entries of a scan, or a walk. */
  readonly limit: number
  /** Of an insert: the first of its places. */
  readonly place: number
}

/** Items that were chosen before the measurement, and their keys, for lanes to take in turn. */
export class PreparedItems {
  readonly #items: Uint32Array
  readonly #words: Uint32Array
  readonly #data: DataSet
  #next = 0

  constructor(data: DataSet, count: number, choose: Chooser, items: Items) {
    this.#data = data
    this.#items = new Uint32Array(count)
    choose(this.#items, count, items.stored)
    items.number(this.#items, count)
    this.#words = new Uint32Array(Math.ceil((count * data.keys.words) / 2) * 2)
    data.keys.write(this.#items, count, this.#words)
  }

  take(count: number): { readonly items: Uint32Array; readonly keys: KeyColumn } {
    if (this.#next + count > this.#items.length) this.#next = 0
    const first = this.#next
    this.#next += count
    const { words: width } = this.#data.keys
    const words = this.#words.subarray(first * width, (first + count) * width)
    const keys = { count, words, width, keys: this.#data.keys.column(words, count) }
    return { items: this.#items.subarray(first, first + count), keys }
  }
}

/** The requests of one lane, which makes one after the other: the same ones for the same seed and lane. */
export class LaneRequests {
  readonly #options: LoadTestOptions
  readonly #data: DataSet
  readonly #items: Items
  readonly #random: Random
  readonly #choose: Chooser
  readonly #prepared: PreparedItems | undefined
  /** Memory for items and their keys. */
  readonly #numbers: Uint32Array
  readonly #words: Uint32Array
  /** Each kind with the sum of the shares up to it. */
  readonly #shares: readonly (readonly [Operation, number])[]

  /** @param lane tells apart the lanes of all processes */
  constructor(
    options: LoadTestOptions,
    data: DataSet,
    items: Items,
    lane: number,
    prepared: PreparedItems | undefined,
  ) {
    this.#options = options
    this.#data = data
    this.#items = items
    this.#prepared = prepared
    this.#random = new Random(options.seed, lane)
    this.#choose = chooser(options.distribution, options.records, this.#random, options.seed)
    this.#numbers = new Uint32Array(options.batch)
    this.#words = new Uint32Array(Math.ceil((options.batch * data.keys.words) / 2) * 2)
    this.#shares = cumulated(workload(options.workload).shares)
  }

  next(): Request {
    const draw = this.#random.fraction()
    const operation = this.#shares.find(([, sum]) => draw < sum)?.[0] ?? this.#shares[0][0]
    const { batch, scanLength } = this.#options
    const limit = operation === 'scan' || operation === 'walk' ? 1 + this.#random.below(scanLength) : 0
    if (operation === 'insert') return this.#insert(batch)
    if (this.#prepared !== undefined) return { operation, ...this.#prepared.take(batch), limit, place: 0 }
    this.#choose(this.#numbers, batch, this.#items.stored)
    return { operation, ...this.#chosen(batch), limit, place: 0 }
  }

  #insert(count: number): Request {
    const place = this.#items.take(count)
    for (let i = 0; i < count; i++) this.#numbers[i] = place + i
    return { operation: 'insert', ...this.#chosen(count), limit: 0, place }
  }

  #chosen(count: number): { readonly items: Uint32Array; readonly keys: KeyColumn } {
    const items = this.#numbers
    this.#items.number(items, count)
    return { items, keys: this.#data.keyColumn(items, count, this.#words) }
  }
}

function cumulated(shares: Readonly<Partial<Record<Operation, number>>>): [Operation, number][] {
  let sum = 0
  return OPERATIONS.flatMap((operation): [Operation, number][] => {
    const share = shares[operation] ?? 0
    sum += share
    return share > 0 ? [[operation, sum]] : []
  })
}
