import type { Column } from '../../../protocol/columns.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { PrefixTree } from '../prefix-tree.js'

/** An index as trees over neighbouring ranges of keys. */
export interface Shards {
  /** The least key, as on the wire, that each tree but the first may have; ascending. */
  readonly boundaries: Column
  /** One more than there are boundaries. */
  readonly trees: readonly PrefixTree[]
}

/** Where a shard's keys come from: from number `first` on `count` places of the batch's. */
export interface ShardPlaces {
  readonly positions: DeviceMemory
  readonly first: number
  readonly count: number
}
