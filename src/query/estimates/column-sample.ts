import { orderedNumber } from '../../../gpu/relational/expressions/ordered-numbers.js'
import type { RelationSample, SampledColumn } from '../../../gpu/relational/relation-sample.js'
import type { ValueSet } from '../../../gpu/relational/selection/selection-types.js'
import { type ColumnType, storageInRelation } from '../../../protocol/column-types.js'
import { aligned, asBytes, KEY_ARRAYS, type KeyArray } from '../../../protocol/columns.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import { nearPartitionPoint } from '../../../protocol/partition-point.js'
import type { ColumnDomain } from '../conditions/column-domain.js'
import { distinctCount } from './distinct-count.js'

/** Rows of the sample with values of an interval from which on they are counted as they are. */
const COUNTED = 4
/** Of an interval with fewer, so many neighbours on either side say how its values lie. */
const NEIGHBOURS = 8
/** More intervals than these are counted as they are: what the sample has too much of one it has too little of others. */
const MANY_INTERVALS = 64

/** A column with what is known of its values. */
export interface EstimatedColumn extends ColumnDomain {
  /** Undefined where no sample has it. Columns whose samples are of the same rows have one source. */
  readonly from: { readonly source: symbol; readonly sample: ColumnSample } | undefined
}

/** Values by their order. */
interface Ranked {
  readonly values: BigUint64Array
  readonly places: Int32Array
}

/** One column of a sample, ready to be asked which of its rows have values of a set. */
export class ColumnSample {
  /** Rows of the sample. */
  readonly rows: number
  /** Of the relation. */
  readonly of: number
  readonly #column: SampledColumn
  readonly #sorted: BigUint64Array
  /** Rows in the order of `sorted`. */
  readonly #order: Uint32Array
  #texts: readonly string[] | undefined
  #ranks: Ranked | undefined

  constructor(sample: RelationSample, column: SampledColumn, type: ColumnType) {
    this.rows = sample.rows.length
    this.#column = column
    const keys = orderedKeys(column.words, type)
    const present = Uint32Array.from({ length: this.rows }, (_, row) => row).filter((row) => this.#has(row))
    this.#order = sortedBy(present, keys)
    this.#sorted = BigUint64Array.from(this.#order, (row) => keys[row]!)
    this.of = sample.of
  }

  /** The different values, ascending. */
  get values(): BigUint64Array {
    return this.#ranked().values
  }

  /** For each row the place of its value among `values`; −1 for null. */
  get places(): Int32Array {
    return this.#ranked().places
  }

  /** The strings that these stand for. */
  get texts(): readonly string[] {
    const { dictionary } = this.#column
    this.#texts ??= Array.from(this.values, (value) => dictionary?.at(Number(value)) ?? '')
    return this.#texts
  }

  /** The share of the relation's rows whose value is in a set. The sample has a row at least. */
  shareOf({ intervals, nulls }: ValueSet): number {
    const isComplete = this.rows >= this.of
    const least = isComplete || intervals.length > MANY_INTERVALS ? 0 : COUNTED
    let found = 0
    let from = 0
    for (const { low, high } of intervals) {
      from = firstFrom(this.#sorted, low, from)
      const end = firstFrom(this.#sorted, high + 1n, from)
      found += end - from >= least ? end - from : this.#rowsAround(low, high, from, end)
      from = end
    }
    const share = Math.min(1, found / this.rows)
    // Whoever asks for what the sample has not is thought to know that it is there.
    const unseen = share > 0 || isComplete || intervals.length === 0 ? 0 : 1 / (4 * this.rows)
    return Math.min(1, Math.max(share, unseen) + (nulls ? 1 - this.#sorted.length / this.rows : 0))
  }

  /**
   * Rows of the sample that an interval would have if values lay evenly around it, and all came equally often.
   * @param from of the values that it has, the first one's place, as `end` that behind the last
   */
  #rowsAround(low: bigint, high: bigint, from: number, end: number): number {
    const near = this.#sorted.subarray(Math.max(0, from - NEIGHBOURS), end + NEIGHBOURS)
    const [least, most] = [near[0]!, near.at(-1)!]
    if (near.length === 0 || high < least || low > most) return 0
    const counts = new Map<bigint, number>()
    for (const value of near) counts.set(value, (counts.get(value) ?? 0) + 1)
    const distinct = distinctCount(counts.values(), (near.length * this.of) / this.rows)
    const span = Number((high < most ? high : most) - (low > least ? low : least)) + 1
    return near.length * Math.min(1, Math.max(span / (Number(most - least) + 1), 1 / distinct))
  }

  /** A bit for each row whose value is in a set. */
  bitsOf({ intervals, nulls }: ValueSet): Uint32Array {
    const bits = new Uint32Array(Math.ceil(this.rows / 32))
    let from = 0
    for (const { low, high } of intervals) {
      from = firstFrom(this.#sorted, low, from)
      const end = firstFrom(this.#sorted, high + 1n, from)
      for (let i = from; i < end; i++) setBit(bits, this.#order[i]!)
      from = end
    }
    if (nulls) for (let row = 0; row < this.rows; row++) if (!this.#has(row)) setBit(bits, row)
    return bits
  }

  /** A bit for each row whose string satisfies a test; null has none. */
  bitsWhere(test: (text: string) => boolean): Uint32Array {
    const bits = new Uint32Array(Math.ceil(this.rows / 32))
    const isFound = this.texts.map(test)
    this.places.forEach((place, row) => {
      if (place >= 0 && isFound[place]) setBit(bits, row)
    })
    return bits
  }

  #ranked(): Ranked {
    this.#ranks ??= ranked(this.#sorted, this.#order, this.rows)
    return this.#ranks
  }

  #has(row: number): boolean {
    const { validity } = this.#column
    return validity === undefined || ((validity[row >> 5]! >>> (row & 31)) & 1) === 1
  }
}

const known = new WeakMap<SampledColumn, ColumnSample>()

/** The column of a sample, made ready once. */
export function columnSample(sample: RelationSample, column: SampledColumn, type: ColumnType): ColumnSample {
  return getOrInsert(known, column, () => new ColumnSample(sample, column, type))
}

/** The values in their order, strings by their numbers, from the words of the device. */
function orderedKeys(words: Uint32Array, type: ColumnType): BigUint64Array {
  const values = aligned<KeyArray>(asBytes(words), KEY_ARRAYS[storageInRelation(type)])
  return BigUint64Array.from({ length: values.length }, (_, row) => orderedNumber(values[row]!, type))
}

function sortedBy(rows: Uint32Array, keys: BigUint64Array): Uint32Array {
  return rows.slice().sort((a, b) => {
    const [x, y] = [keys[a]!, keys[b]!]
    return x < y ? -1 : x > y ? 1 : 0
  })
}

/** @param order rows in the order of `sorted` */
function ranked(sorted: BigUint64Array, order: Uint32Array, rows: number): Ranked {
  const values = sorted.filter((value, i) => i === 0 || value !== sorted[i - 1])
  const places = new Int32Array(rows).fill(-1)
  let place = -1
  sorted.forEach((value, i) => {
    if (place < 0 || value !== values[place]) place++
    places[order[i]!] = place
  })
  return { values, places }
}

/** The first place from `start` on whose value is not less. */
function firstFrom(sorted: BigUint64Array, value: bigint, start: number): number {
  return nearPartitionPoint(start, sorted.length, (place) => sorted[place]! < value)
}

function setBit(bits: Uint32Array, row: number): void {
  bits[row >> 5]! |= 1 << (row & 31)
}
