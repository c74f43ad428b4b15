import type { ExpiryFigures } from './expiry.js'

/**
 * How the keys of a batch are found in a prefix tree (Volk §3). All give the same answers.
 * - `sequential`: one thread a key goes down all levels.
 * - `speculative`: one thread for each key and partition goes down the partition's levels (§3.1).
 * - `hierarchical`: one workgroup for each key and block of partitions resolves the block by itself (§3.2).
 * - `directed`: a hash of the key's leading digits tells which partitions to go down at all.
 */
export const STRATEGIES = ['sequential', 'speculative', 'hierarchical', 'directed'] as const
export type Strategy = (typeof STRATEGIES)[number]

/** How the partitions' results become one: from the root on, or backwards from payloads by the reversed result table (§3.3). */
export const RESOLUTIONS = ['serial', 'reversed'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

/** How keys are to be found. Only `sequential` has no resolution. */
export interface Traversal {
  readonly strategy: Strategy
  /** `serial` unless said otherwise. */
  readonly resolution?: Resolution | undefined
}

/** Every way to find keys. */
export const TRAVERSALS: readonly Traversal[] = STRATEGIES.flatMap((strategy): Traversal[] =>
  strategy === 'sequential' ? [{ strategy }] : RESOLUTIONS.map((resolution) => ({ strategy, resolution })),
)

/** `compact` leaves out nodes that lead to one key only; in `full` every key goes down all of its levels, as in the paper. */
export const LAYOUTS = ['compact', 'full'] as const
export type Layout = (typeof LAYOUTS)[number]

/** Where a `full` tree's nodes lie: where there is room, or 16 partitions of a level interleaved and filled together (§4.2, Figure 6). */
export const ALLOCATIONS = ['demand', 'coalesced'] as const
export type Allocation = (typeof ALLOCATIONS)[number]

/**
 * What an index is: a prefix tree (Volk §2.1), or a CSS-tree (He §4.1): sorted keys below a directory without pointers, with a prefix
 * tree beside it for what was written since both were merged.
 */
export const STRUCTURES = ['prefix', 'css'] as const
export type Structure = (typeof STRUCTURES)[number]

export type PartitionLevels = number | 'auto' | 'none'

/** How an index is laid out on the device. All but the structure is of prefix trees. */
export interface TreeLayout {
  /** `prefix` unless said otherwise. */
  readonly structure?: Structure | undefined
  /** `compact` unless said otherwise. */
  readonly layout?: Layout | undefined
  /** `demand` unless said otherwise; only `full` trees have another. */
  readonly allocation?: Allocation | undefined
  /**
   * Levels of a partition (the paper's m); `auto`, unless said otherwise, is the root of the tree's levels (§3.1), or a little more where there
   * are fewer partitions then. With `none`, which only `compact` trees may have, there are no partitions.
   */
  readonly partitionLevels?: PartitionLevels | undefined
  /**
   * Whether keys are linked in their order, as Volk's global list is (§4.1): scans and getNext then follow the links instead of
   * going through the nodes. Takes 8 bytes a key; inserts and deletes keep the links. Not unless said otherwise.
   */
  readonly linked?: boolean | undefined
}

/** What a strategy is expected to take for a batch. */
export interface TraversalCost extends Traversal {
  readonly microseconds: number
}

/** One partition's part in finding one key: a row of Tables 1 and 2. Partitions have numbers from 1; the first holds the root. */
export interface ResultTableRow {
  readonly partition: number
  /** Level of its root node. */
  readonly level: number
  /** The partition that the key's digits lead to from this one, a payload, or nothing (Table 1). */
  readonly result: number | 'payload' | null
  /** The partition whose result this one is (Table 2). */
  readonly predecessor: number | null
}

/** The intermediate and the reversed result table of one key: of each partition that the strategy has a result of its own for. */
export interface ResultTables {
  readonly rows: readonly ResultTableRow[]
  /** Rows left out because there were too many: such without result and predecessor go first. */
  readonly omitted: number
  /** The partition whose payload is the key's; null where the index does not have the key. */
  readonly answer: number | null
}

/** How a get of a batch of keys would be done, and why. */
export interface Explanation extends Traversal {
  /** Keys of the batch. */
  readonly batch: number
  /** Digits of its longest key, 4 bits each. */
  readonly digits: number
  /** The index's partitions; null where it has none. */
  readonly partitions: { readonly count: number; readonly levels: number } | null
  /** One sentence. */
  readonly reason: string
  /** Estimates for this adapter, cheapest first; empty where there is nothing to choose from. */
  readonly costs: readonly TraversalCost[]
  /**
   * Of the batch's first key, as the device fills them for the strategy (for `sequential`, which has none, as for `speculative`); null where the
   * index has no partitions.
   */
  readonly tables: ResultTables | null
  /** Of an index that was created with a `ttl`. What is due is removed before a get. */
  readonly expiry?: ExpiryFigures | undefined
}
