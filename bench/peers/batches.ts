import type { DataSet } from '../../clients/load-test/data-set.js'
import { type Chooser, chooser, type Distribution } from '../../clients/load-test/distributions.js'
import { Random } from '../../clients/load-test/random.js'
import type { KeyColumn } from '../../clients/load-test/target.js'
import { type Batch, KEY_BYTES } from './peer.js'

/** Keys that are drawn for the calls of one measurement, and calls, at most. */
const MOST_KEYS = 1 << 25
const MOST_CALLS = 1 << 18

/** Draws the batches of measurements before these begin, so that no peer's time has the drawing in it. */
export class BatchSource {
  readonly #data: DataSet
  readonly #records: number
  readonly #choosers: Readonly<Record<'uniform' | 'zipfian', Chooser>>

  constructor(data: DataSet, records: number, seed: number) {
    this.#data = data
    this.#records = records
    const of = (distribution: Distribution) => chooser(distribution, records, new Random(seed, 0), seed)
    this.#choosers = { uniform: of('uniform'), zipfian: of('zipfian') }
  }

  /** Fresh batches of items of the data set, with about so many keys in all. */
  draw(distribution: 'uniform' | 'zipfian', size: number, keys: number): Batch[] {
    const calls = Math.min(MOST_CALLS, Math.ceil(Math.min(keys, MOST_KEYS) / size))
    const items = new Uint32Array(calls * size)
    this.#choosers[distribution](items, items.length, this.#records)
    return batches(this.#data, items, size)
  }
}

/** Items in batches. */
export function batches(data: DataSet, items: Uint32Array, size: number): Batch[] {
  const words = new Uint32Array(items.length * data.keys.words)
  data.keys.write(items, items.length, words)
  return cut(data, words, items.length, size)
}

/** A column of keys in batches of a size, but for the last one. */
export function cut(data: DataSet, words: Uint32Array, count: number, size: number): Batch[] {
  const bigEndian = Buffer.allocUnsafeSlow(words.byteLength)
  bigEndian.set(new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
  bigEndian.swap64()
  return Array.from({ length: Math.ceil(count / size) }, (_, i) => {
    const first = i * size
    const end = Math.min(first + size, count)
    const width = data.keys.words
    const part = words.subarray(first * width, end * width)
    const column: KeyColumn = {
      count: end - first,
      words: part,
      width,
      keys: data.keys.column(part, end - first),
    }
    return { ...column, bigEndian: bigEndian.subarray(first * KEY_BYTES, end * KEY_BYTES) }
  })
}
