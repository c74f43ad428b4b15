import type { PrefixTree } from '../prefix-tree.js'
import type { Boundaries } from './boundaries.js'

/** Bytes of a sequence number, in columns and behind the key of a token. */
export const SEQUENCE_BYTES = 4

/** An index as trees over neighbouring ranges of keys. */
export interface Shards {
  readonly boundaries: Boundaries
  /** One more than there are boundaries. */
  readonly trees: readonly PrefixTree[]
}
