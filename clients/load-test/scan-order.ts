import { asBytes, KEY_ARRAYS, type KeyArray } from '../../protocol/columns.js'
import { isFixedKeyType } from '../../protocol/types.js'
import type { KeySpace } from './key-space.js'
import type { Request } from './requests.js'
import type { ScanAnswer } from './target.js'

/** Checks that scans have the keys that they must have, in order. */
export class ScanOrder {
  readonly #keys: KeySpace
  readonly #records: number
  #sorted: KeyArray | undefined

  constructor(keys: KeySpace, records: number) {
    this.#keys = keys
    this.#records = records
  }

  /** What is wrong with scan i, whose first key is there. */
  problem({ keys, limit }: Request, { offsets, words, more }: ScanAnswer, i: number): string | undefined {
    const first = offsets[i]
    const end = offsets[i + 1]
    if (end === first) return 'begins a scan that has no entries'
    if (end - first > limit) return `begins a scan of ${limit} that has ${end - first} entries`
    if (end - first < limit && more(i)) return 'begins a scan that ends early'
    if (this.#compare(keys.words, i, words, first) !== 0) return 'begins a scan that begins with another key'
    for (let entry = first + 1; entry < end; entry++) {
      if (this.#compare(words, entry - 1, words, entry) >= 0) return 'begins a scan that is not in order'
    }
    return this.#leftOut(words, first, end, end - first < limit)
  }

  /** Whether keys of the data set are missing, where they are numbers: those are quickly sorted. */
  #leftOut(words: Uint32Array, first: number, end: number, isLast: boolean): string | undefined {
    const { keyType } = this.#keys
    if (!isFixedKeyType(keyType)) return undefined
    const Column = KEY_ARRAYS[keyType]
    const column: KeyArray = new Column(words.buffer, words.byteOffset, words.length / this.#keys.words)
    this.#sorted ??= this.#sortedKeys()
    let place = lowerBound(this.#sorted, column[first])
    for (let entry = first; entry < end && place < this.#sorted.length; entry++) {
      if (this.#sorted[place] < column[entry]) return 'begins a scan that leaves out a key'
      if (this.#sorted[place] === column[entry]) place++
    }
    return isLast && place < this.#sorted.length ? 'begins a scan that ends before the last key' : undefined
  }

  #sortedKeys(): KeyArray {
    const items = Uint32Array.from({ length: this.#records }, (_, i) => i)
    const words = new Uint32Array(this.#records * this.#keys.words)
    this.#keys.write(items, this.#records, words)
    const { keyType } = this.#keys
    const Column = KEY_ARRAYS[isFixedKeyType(keyType) ? keyType : 'u32']
    const column: KeyArray = new Column(words.buffer, 0, this.#records)
    return column.sort()
  }

  #compare(a: Uint32Array, i: number, b: Uint32Array, j: number): number {
    const { keyType, words: width } = this.#keys
    if (!isFixedKeyType(keyType)) return Buffer.compare(keyBytes(a, i, width), keyBytes(b, j, width))
    const Column = KEY_ARRAYS[keyType]
    const left: KeyArray = new Column(a.buffer, a.byteOffset + 4 * width * i, 1)
    const right: KeyArray = new Column(b.buffer, b.byteOffset + 4 * width * j, 1)
    return left[0] < right[0] ? -1 : Number(left[0] > right[0])
  }
}

function keyBytes(words: Uint32Array, i: number, width: number): Uint8Array {
  return asBytes(words.subarray(i * width, (i + 1) * width))
}

function lowerBound(sorted: KeyArray, key: number | bigint): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle] < key) low = middle + 1
    else high = middle
  }
  return low
}
