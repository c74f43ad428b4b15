import type { Device } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords, Primitives, SortOptions } from '../../primitives/primitives.js'
import type { DeviceWork, Moved } from '../query/device-work.js'
import { Expansion } from './expand.js'
import { HashJoin } from './hash-join.js'
import { IndexJoin } from './index-join.js'
import { chooseJoin, type JoinChoice, ordersProbes } from './join-choice.js'
import { JoinResult, type ResultParts } from './join-result.js'
import type { JoinAlgorithm, JoinRequest, JoinSide, TreeJoinRequest } from './join-types.js'
import { type KeyRange, type Matches, type Roles, rolesOf } from './matches.js'
import { NestedLoopJoin, PROBE_BLOCK } from './nested-loop-join.js'
import { type SortedKeys, SortMerge } from './sort-merge-join.js'
import { Tallies } from './tally.js'
import { matchInIndex } from './tree-index.js'

/** Keys in ascending order, and their rows; a key's place is its row where there are none. */
interface Ordered extends SortedKeys {
  readonly rows: DeviceMemory | undefined
}

/** What the algorithms are to find, and with what. */
interface Finding {
  readonly work: DeviceWork
  readonly scratch: Scratch
  readonly sides: Roles<JoinSide>
  readonly keyWords: KeyWords
  readonly keyBits: number
  readonly range: KeyRange
}

/** The kernels of each algorithm for keys of one width. */
interface Algorithms {
  readonly ninlj: NestedLoopJoin
  readonly inlj: IndexJoin
  readonly smj: SortMerge
  readonly hj: HashJoin
}

/** As many as 32 bits can count. */
const MOST_SLICE_PAIRS = 2 ** 32 - 1

const BYTE_BITS = 8

/**
 * Joins of columns on the device (He et al. §4), in three phases: one of four algorithms finds the run of rows that each probe matches, their
 * lengths are counted (`JoinResult.count`), and pairs are written in passes (`Expansion`).
 */
export class Joins {
  readonly #parts: ResultParts
  readonly #algorithms: Readonly<Record<KeyWords, Algorithms>>

  /**
   * @param primitives of the strategy by which pairs are written, too
   * @param slicePairs pairs whose places are counted together, at most
   */
  constructor(device: Device, primitives: Primitives, slicePairs = MOST_SLICE_PAIRS) {
    const tallies = new Tallies(device)
    const algorithms = (keyWords: KeyWords) => ({
      ninlj: new NestedLoopJoin(device, keyWords),
      inlj: new IndexJoin(device, keyWords),
      smj: new SortMerge(device, keyWords),
      hj: new HashJoin(device, keyWords),
    })
    const expansion = new Expansion(device, primitives, tallies, slicePairs)
    this.#parts = { tallies, expansion }
    this.#algorithms = { 1: algorithms(1), 2: algorithms(2) }
  }

  /**
   * Finds and counts what rows match, and waits for the device once, but for skewed keys. `JoinResult.passes` writes the results.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, and what the work's scratch memory throws
   */
  async join(work: DeviceWork, request: JoinRequest): Promise<JoinResult> {
    const { left, right, keyWords, keyBits = 32 * keyWords, kind = 'inner', passBytes } = request
    const choice = choose(request, work.device.facts.software)
    const sides = rolesOf({ left, right }, choice.build)
    const rows = { left: left.count, right: right.count }
    const single = request.delta === undefined && sides.build.unique === true
    return this.#inPart(work, (scratch) => {
      const result = { work, scratch, rows, kind, passBytes, choice, single }
      if (left.count === 0 || right.count === 0) return JoinResult.count(this.#parts, result, undefined)
      work.moves(movedToMatch(sides, keyWords, choice.algorithm))
      const range = rangeOf(request, choice)
      const finding = { work, scratch, sides, keyWords, keyBits, range }
      return JoinResult.count(this.#parts, result, this.#find(finding, choice.algorithm))
    })
  }

  /**
   * As `join`, with an index of the server, which is not needed any more once this has settled and the work is submitted.
   * @returns undefined where the matches are more than there is room for beside it; other joins need less
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  joinByTree(work: DeviceWork, request: TreeJoinRequest): Promise<JoinResult | undefined> {
    const { index, build, buildRows, probe, probeRows, costs = {}, kind = 'inner', passBytes } = request
    const rows =
      build === 'left' ? { left: buildRows, right: probeRows } : { left: probeRows, right: buildRows }
    const choice = { algorithm: 'inlj', build, costs } as const
    return this.#inPart(work, async (scratch) => {
      const result = { work, scratch, rows, kind, passBytes, choice, single: false }
      if (buildRows === 0 || probe.count === 0) return JoinResult.count(this.#parts, result, undefined)
      work.moves(movedToMatch({ probe, build: { count: 0 } }, 1, choice.algorithm))
      const matches = await matchInIndex(work, scratch, this.#parts.tallies, index, probe)
      return matches && JoinResult.count(this.#parts, result, matches)
    })
  }

  /** Runs what makes a result, whose memory goes when it comes to nothing. */
  async #inPart<Result>(work: DeviceWork, make: (scratch: Scratch) => Promise<Result>): Promise<Result> {
    const scratch = work.scratch.part()
    let made: Result | undefined
    try {
      made = await make(scratch)
      return made
    } finally {
      if (made === undefined) {
        work.submit()
        scratch.release()
      }
    }
  }

  #find(finding: Finding, algorithm: JoinAlgorithm): Matches {
    switch (algorithm) {
      case 'ninlj':
        return this.#byNestedLoop(finding)
      case 'inlj':
        return this.#bySortedKeys(finding, 'inlj', this.#orderedProbes(finding))
      case 'smj':
        return this.#bySortedKeys(finding, 'smj', this.#ordered(finding, finding.sides.probe))
      case 'hj':
        return this.#byHash(finding)
    }
  }

  /** Where a probe has several matches, the order of their keys brings them side by side. */
  #byNestedLoop(finding: Finding): Matches {
    const { work, scratch, sides, keyWords, range } = finding
    const runs = this.#algorithms[keyWords].ninlj.record(work.recorder, scratch, sides, range)
    const rows = { probe: undefined, build: undefined }
    const sideBySide = () => this.#find(finding, 'inlj')
    return { algorithm: 'ninlj', ...runs, probes: sides.probe.count, rows, sideBySide }
  }

  #bySortedKeys(finding: Finding, algorithm: 'inlj' | 'smj', probe: Ordered): Matches {
    const { work, scratch, sides, keyWords, range } = finding
    const build = this.#ordered(finding, sides.build)
    const runs = this.#algorithms[keyWords][algorithm].record(work.recorder, scratch, { probe, build }, range)
    return { algorithm, ...runs, probes: probe.count, rows: { probe: probe.rows, build: build.rows } }
  }

  /** That no partition has too many keys is looked at when all is done: hardly ever has one. */
  #byHash(finding: Finding): Matches {
    const { work, scratch, sides, keyWords } = finding
    const matches = this.#algorithms[keyWords].hj.record(work, scratch, sides)
    return { ...matches, otherwise: { word: matches.unfit, find: () => this.#find(finding, 'smj') } }
  }

  #orderedProbes(finding: Finding): Ordered {
    const { work, sides, keyBits } = finding
    const { probe } = sides
    if (keyBits === 0 || !ordersProbes(probe, work.device.facts.software))
      return { ...probe, rows: undefined }
    const from = BYTE_BITS * (Math.ceil(keyBits / BYTE_BITS) - 1)
    return this.#sort(finding, probe, { from, bits: keyBits })
  }

  #ordered(finding: Finding, side: JoinSide): Ordered {
    // Without bits to tell them apart all keys are equal.
    if (side.sorted || finding.keyBits === 0) return { ...side, rows: undefined }
    return this.#sort(finding, side, { bits: finding.keyBits })
  }

  #sort({ work, scratch, keyWords }: Finding, { keys, count }: JoinSide, bits: SortOptions): Ordered {
    const sorted = work.sort({ keys, values: undefined }, count, keyWords, bits, scratch)
    return { keys: sorted.keys, rows: sorted.values, count }
  }
}

/**
 * What finding the matches of probes reads and writes beside what it sorts: the keys, those to build on once for each block of a nested loop's probes, and where
 * each probe's run begins and how long it is, which is read to count pairs and to write them.
 */
function movedToMatch(
  { probe, build }: Roles<Pick<JoinSide, 'count'>>,
  keyWords: KeyWords,
  algorithm: JoinAlgorithm,
): Moved {
  const keyBytes = 4 * keyWords
  const rounds = algorithm === 'ninlj' ? Math.ceil(probe.count / PROBE_BLOCK) : 1
  const runs = 8 * probe.count
  return { read: keyBytes * (probe.count + rounds * build.count) + 2 * runs, written: runs }
}

function choose(request: JoinRequest, software: boolean): JoinChoice {
  const { keyWords, keyBits = 32 * keyWords, kind = 'inner', algorithm = 'auto' } = request
  const band = request.delta !== undefined
  const factsOf = ({ count, sorted = false, unique = false }: JoinSide) => {
    return { count, sorted, unique, indexed: false }
  }
  const sides = { left: factsOf(request.left), right: factsOf(request.right) }
  return chooseJoin({ ...sides, keyWords, keyBits, band, kind, software }, algorithm)
}

/** What keys a probe matches, as its side sees the band. */
function rangeOf({ delta = 0n, keyWords }: JoinRequest, { build }: JoinChoice): KeyRange {
  const largest = 2n ** BigInt(32 * keyWords) - 1n
  const width = delta < largest ? delta : largest
  return build === 'right' ? { below: 0n, above: width } : { below: width, above: 0n }
}
