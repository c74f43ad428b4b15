import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords } from '../../primitives/primitives.js'
import type { IndexSearch } from './index-join.js'
import type { JoinIndex } from './join-index.js'
import type { TreeIndex, TreeProbe } from './tree-index.js'

/** The four joins of He et al. §4.1: nested-loop without and with an index, sort-merge, hash. */
export const JOIN_ALGORITHMS = ['ninlj', 'inlj', 'smj', 'hj'] as const
export type JoinAlgorithm = (typeof JOIN_ALGORITHMS)[number]

/**
 * `left`, `right` and `full` also return the rows of those sides that match nothing; `semi` and `anti` the left rows that match
 * something or nothing, each once.
 */
export const JOIN_KINDS = ['inner', 'left', 'right', 'full', 'semi', 'anti'] as const
export type JoinKind = (typeof JOIN_KINDS)[number]

export type SideName = 'left' | 'right'

/** The row number that stands beside a row that matches nothing. */
export const NO_ROW = 0xffffffff

/** Keys on the device and the rows that have them. */
export interface JoinSide {
  /** Unsigned numbers in the order of the values they stand for; of two words the low one comes first. */
  readonly keys: GPUBuffer
  readonly count: number
  /** The row number of each key; their positions if absent. */
  readonly rows?: GPUBuffer
  /** Row numbers are below it: `count` unless given. Asked for only where rows that match nothing, or only those that match, are. */
  readonly rowBound?: number
  /** Whether the keys are in ascending order. */
  readonly sorted?: boolean
  /** An index over these very keys and rows, by `Joins.createIndex`. */
  readonly index?: JoinIndex
}

/** What is known of a side's rows where its keys do not matter. */
export type SideRows = Pick<JoinSide, 'count' | 'rows' | 'rowBound'>

/** Which pairs match: those with equal keys, or with left key <= right key <= left key + delta. */
export type JoinPredicate = { readonly type: 'equal' } | { readonly type: 'band'; readonly delta: bigint }

export interface JoinRequest {
  readonly left: JoinSide
  readonly right: JoinSide
  /** 1 for keys of 32 bits, 2 for 64 bits. */
  readonly keyWords: KeyWords
  /** Equal keys unless given. */
  readonly predicate?: JoinPredicate
  /** `inner` unless given. */
  readonly kind?: JoinKind
  /** `auto`, which is the default, leaves it to `chooseJoin`. */
  readonly algorithm?: JoinAlgorithm | 'auto'
  /** Bytes that the pairs of a pass may take, 8 a pair. */
  readonly passBytes: number
  /** Sides of which `JoinResult.marks` is to tell the rows that match, besides those whose kind of join needs it. */
  readonly marks?: readonly SideName[]
  /** Whose memory the join's own counts with; it counts for itself if absent. */
  readonly scratch?: Scratch
  readonly tuning?: JoinTuning
}

/** A join by equal keys in which an index of the server has one side: the rows of the other look for theirs in it. */
export interface TreeJoinRequest {
  readonly index: TreeIndex
  /** The side that the index has; the right one of semi and anti joins. */
  readonly build: SideName
  /** Rows of that side, whether the index has them or not: numbers below it. */
  readonly buildRows: number
  readonly probe: TreeProbe & Pick<JoinSide, 'rowBound'>
  readonly kind?: JoinKind
  readonly passBytes: number
  readonly scratch?: Scratch
}

/** What changes how a join is run, and not what it finds; for measurements and tests. */
export interface JoinTuning {
  /** The side to build on; that of the right rows only, of semi and anti joins. */
  readonly build?: SideName
  /** How INLJ searches its index: from `buckets` unless given. */
  readonly search?: IndexSearch
  /** By how many of their leading bytes INLJ orders probes that are in no order, so that neighbours find the same nodes in caches. */
  readonly orderedBytes?: number
  /** Partitions of HJ as a power of two. */
  readonly partitionBits?: number
  /** Whether places are scanned for even where no probe has more than one match, and a list of those that have one would do. */
  readonly scansSingle?: boolean
  /** Pairs whose places are counted together, at most: 2^32 - 1 unless given. */
  readonly slicePairs?: number
}

/** Some of a join's results, in columns that are lent until the next pass is asked for. */
export interface JoinPass {
  /** Row numbers; `NO_ROW` beside a right row that matches nothing. */
  readonly left: GPUBuffer
  /** As `left`; undefined of semi and anti joins. */
  readonly right: GPUBuffer | undefined
  readonly count: number
}
