import type { KeySpace } from './key-space.js'
import type { PayloadSpace } from './payload-space.js'
import type { KeyColumn, PayloadRows } from './target.js'

/** The version of payloads that are inserted; updates have higher ones. */
export const FIRST_VERSION = 0

/** Items of a batch of the load: enough that its own cost does not count. */
const BATCH = 1 << 16

/** Keys and payloads of a load test's items. */
export class DataSet {
  readonly keys: KeySpace
  readonly payloads: PayloadSpace

  constructor(keys: KeySpace, payloads: PayloadSpace) {
    this.keys = keys
    this.payloads = payloads
  }

  /** The keys of the first `count` items, written to the start of `words`. */
  keyColumn(items: Uint32Array, count: number, words: Uint32Array): KeyColumn {
    this.keys.write(items, count, words)
    return { count, words, width: this.keys.words, keys: this.keys.column(words, count) }
  }

  /** A payload for each key, written to the start of `bytes`. */
  payloadRows({ words, count }: KeyColumn, version: number, bytes: Uint8Array): PayloadRows {
    for (let i = 0; i < count; i++) this.payloads.write(bytes, i, this.keys.hash(words, i), version)
    return { bytes, width: this.payloads.width }
  }

  /** Items from `first` to before `end` in batches, each with memory of its own. */
  *batches(first: number, end: number): Generator<readonly [KeyColumn, PayloadRows]> {
    for (const keys of this.keyBatches(first, end)) {
      yield [keys, this.payloadRows(keys, FIRST_VERSION, this.payloads.room(keys.count))]
    }
  }

  *keyBatches(first: number, end: number): Generator<KeyColumn> {
    for (let start = first; start < end; start += BATCH) {
      const count = Math.min(BATCH, end - start)
      const items = Uint32Array.from({ length: count }, (_, i) => start + i)
      yield this.keyColumn(items, count, new Uint32Array(Math.ceil((count * this.keys.words) / 2) * 2))
    }
  }
}
