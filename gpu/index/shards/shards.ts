import { type Rows, type RowWidth, rowAt, rowsOf } from '../../../protocol/rows.js'
import { keyWidth } from '../../../protocol/types.js'
import type { IndexShape } from '../../index-structure.js'
import type { PrefixTree } from '../prefix-tree.js'

/** Bytes of a sequence number, in columns and behind the key of a token. */
export const SEQUENCE_BYTES = 4

/** An index as trees over neighbouring ranges of keys. */
export interface Shards {
  readonly boundaries: Boundaries
  /** One more than there are boundaries. */
  readonly trees: readonly PrefixTree[]
}

/** Where a shard's keys come from: from number `first` on `count` places of the batch's. */
export interface ShardPlaces {
  readonly positions: GPUBuffer
  readonly first: number
  readonly count: number
}

/** Where an index is cut into shards: the least key, as on the wire, that each shard but the first may have; ascending. */
export class Boundaries {
  readonly rows: Rows
  readonly #width: RowWidth
  readonly #keys: readonly Uint8Array[]

  private constructor(width: RowWidth, keys: readonly Uint8Array[]) {
    const { bytes, offsets } = rowsOf(keys)
    this.rows = width === undefined ? { bytes, offsets } : { bytes }
    this.#width = width
    this.#keys = keys
  }

  /** @param rows so many keys, ascending; none of an index of one shard */
  static of({ keyType }: IndexShape, rows: Rows, count: number): Boundaries {
    const width = keyWidth(keyType)
    return new Boundaries(
      width,
      Array.from({ length: count }, (_, i) => rowAt(rows, width, i)),
    )
  }

  get count(): number {
    return this.#keys.length
  }

  get shards(): number {
    return this.count + 1
  }

  /** Shard number `shard` is cut in two at `key`. */
  cut(shard: number, key: Uint8Array): Boundaries {
    return new Boundaries(this.#width, this.#keys.toSpliced(shard, 0, key))
  }
}
