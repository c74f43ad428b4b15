import type { JoinKind } from '../../../protocol/query/tree.js'
import type { DeviceReads } from '../../device-reads.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { KeyWords } from '../../primitives/primitives.js'
import type { JoinChoice } from './join-choice.js'
import type { TreeProbe } from './tree-index.js'

/** The four joins of He et al. §4.1: nested-loop without and with an index, sort-merge, hash. */
export const JOIN_ALGORITHMS = ['ninlj', 'inlj', 'smj', 'hj'] as const
export type JoinAlgorithm = (typeof JOIN_ALGORITHMS)[number]

export type SideName = 'left' | 'right'

/** The row number that stands beside a row that matches nothing. */
export const NO_ROW = 0xffffffff

/** Keys on the device, one for each row. */
export interface JoinSide {
  /** Unsigned numbers, for a band in the order of the values they stand for; of two words the low one comes first. */
  readonly keys: DeviceMemory
  readonly count: number
  /** Whether the keys are in ascending order. */
  readonly sorted?: boolean
  /** Whether they are all different. */
  readonly unique?: boolean
}

export interface JoinRequest {
  readonly left: JoinSide
  readonly right: JoinSide
  /** 1 for keys of 32 bits, 2 for 64 bits. */
  readonly keyWords: KeyWords
  /** Lowest bits in which keys differ, at most: all of them unless given. */
  readonly keyBits?: number
  /** The width of a band, 0 or more: left key <= right key <= left key + delta. Keys are equal unless it is given. */
  readonly delta?: bigint | undefined
  /** `inner` unless given. */
  readonly kind?: JoinKind
  /** `auto`, which is the default, leaves it to `chooseJoin`; `hj` is for equal keys. */
  readonly algorithm?: JoinAlgorithm | 'auto'
  /** Bytes that the pairs of a pass may take, 8 a pair. */
  readonly passBytes: number
}

/** A join by equal keys in which an index of the server has one side: the rows of the other look for theirs in it. */
export interface TreeJoinRequest {
  readonly index: DeviceReads
  /** The side that the index has; the right one of semi and anti joins. */
  readonly build: SideName
  /** Rows of that side, whether the index has them or not: numbers below it. */
  readonly buildRows: number
  readonly probe: TreeProbe
  /** Rows of the other side, whether they look for anything or not. */
  readonly probeRows: number
  /** What the algorithms were estimated to take, to tell. */
  readonly costs?: JoinChoice['costs']
  readonly kind?: JoinKind
  readonly passBytes: number
}

/** Some of a join's results, in columns that are the caller's. */
export interface JoinPass {
  /** Row numbers; `NO_ROW` beside a right row that matches nothing. */
  readonly left: DeviceMemory
  /** As `left`; undefined of semi and anti joins. */
  readonly right: DeviceMemory | undefined
  readonly count: number
  /** The side whose row numbers are each greater than the one before, where there is one. */
  readonly ascending: SideName | undefined
}
