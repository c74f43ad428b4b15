import type { PrefixTree } from '../prefix-tree/prefix-tree.js'
import type { Boundaries } from './boundaries.js'

/** An index as trees over neighbouring ranges of keys. */
export interface Shards {
  readonly boundaries: Boundaries
  /** One more than there are boundaries. */
  readonly trees: readonly PrefixTree[]
}
