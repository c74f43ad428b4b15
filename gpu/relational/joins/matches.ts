import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { JoinAlgorithm, SideName } from './join-types.js'
import type { Tally } from './tally.js'

/** The sides of a join by what they do in it: every row of the one is a probe, and finds its matches in the other. */
export interface Roles<Side> {
  readonly probe: Side
  readonly build: Side
}

/** What belongs to both sides, by what they do. */
export function rolesOf<T>({ left, right }: Readonly<Record<SideName, T>>, build: SideName): Roles<T> {
  return build === 'left' ? { probe: right, build: left } : { probe: left, build: right }
}

export function otherSide(side: SideName): SideName {
  return side === 'left' ? 'right' : 'left'
}

/** Of each probe the run of rows that it matches. */
export interface Runs {
  /** Where its matches begin. */
  readonly firsts: DeviceMemory
  /** How many they are. */
  readonly counts: DeviceMemory
}

/** What the first phase of a join leaves. */
export interface Matches extends Runs {
  readonly algorithm: JoinAlgorithm
  readonly probes: number
  /** Undefined where a probe's number is its row, or a place in the run is. */
  readonly rows: Roles<DeviceMemory | undefined>
  /** What they come to, where that is known already. */
  readonly tally?: Tally
  /** Finds the matches in another way where a word that is read with their tally is not 0. */
  readonly otherwise?: { readonly word: DeviceWord; readonly find: () => Matches }
  /** Finds the runs where probes turn out to have several matches each, and these do not lie side by side. */
  readonly sideBySide?: () => Matches
}

/** What a probe's key matches: from key - below to key + above. */
export interface KeyRange {
  readonly below: bigint
  readonly above: bigint
}

/** As params of kernels. */
export function rangeParams({ below, above }: KeyRange) {
  const [belowLow, belowHigh] = words(below)
  const [aboveLow, aboveHigh] = words(above)
  return { belowLow, belowHigh, aboveLow, aboveHigh }
}

function words(width: bigint): readonly [low: number, high: number] {
  return [Number(width & 0xffffffffn), Number(width >> 32n)]
}
