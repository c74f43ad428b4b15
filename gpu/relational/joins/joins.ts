import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Scratch } from '../../memory/scratch.js'
import type { KeyWords, Primitives, SortOptions } from '../../primitives/primitives.js'
import { type Strategy, strategyFor } from '../../primitives/strategy.js'
import type { DeviceWork } from '../query/device-work.js'
import { Expansion } from './expand.js'
import { HashJoin } from './hash-join.js'
import { IndexJoin } from './index-join.js'
import { chooseJoin, type JoinChoice } from './join-choice.js'
import {
  type CountedResult,
  JoinResult,
  type ResultParts,
  type ResultRequest,
  rolesOf,
} from './join-result.js'
import type { JoinPredicate, JoinRequest, JoinSide, TreeJoinRequest } from './join-types.js'
import { MatchedRows } from './matched.js'
import type { KeyRange, Matches, Roles } from './matches.js'
import { NestedLoopJoin } from './nested-loop-join.js'
import { type SortedKeys, SortMerge } from './sort-merge-join.js'
import { Tallies } from './tally.js'

/** Keys in ascending order, and their rows; a key's place is its row where there are none. */
interface Ordered extends SortedKeys {
  readonly rows: GPUBuffer | undefined
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

/** What may be said otherwise of how joins are carried out. */
export interface JoinOptions {
  /** The one that suits the device, unless given. */
  readonly strategy?: Strategy
  /** Pairs whose places are counted together: as many as 32 bits can count unless given. */
  readonly slicePairs?: number
}

const MOST_SLICE_PAIRS = 2 ** 32 - 1

/** Fewer probes than these are not put in order first: what they look into is in caches anyway. */
const ORDERED_PROBES = 2 ** 18

const BYTE_BITS = 8

/** Joins of columns on the device (He et al. §4): by one of four algorithms, with results counted first and written in passes. */
export class Joins {
  readonly #primitives: Primitives
  readonly #parts: ResultParts
  readonly #algorithms: Readonly<Record<KeyWords, Algorithms>>

  constructor(
    device: Device,
    primitives: Primitives,
    { strategy = strategyFor(device), slicePairs = MOST_SLICE_PAIRS }: JoinOptions = {},
  ) {
    const tallies = new Tallies(device)
    const algorithms = (keyWords: KeyWords) => ({
      ninlj: new NestedLoopJoin(device, keyWords),
      inlj: new IndexJoin(device, keyWords),
      smj: new SortMerge(device, keyWords),
      hj: new HashJoin(device, primitives, tallies, keyWords),
    })
    const expansion = new Expansion(device, strategy)
    const matched = new MatchedRows(device, primitives)
    this.#primitives = primitives
    this.#parts = { primitives, tallies, expansion, matched, slicePairs }
    this.#algorithms = { 1: algorithms(1), 2: algorithms(2) }
  }

  /**
   * Finds and counts what rows match, and waits for the device once, but for skewed keys. `JoinResult.passes` writes the results.
   * @throws WarpdexError `BAD_REQUEST` for what no algorithm can do, `OUT_OF_DEVICE_MEMORY`, and what the work's scratch memory throws
   */
  async join(work: DeviceWork, request: JoinRequest): Promise<JoinResult> {
    const { left, right, keyWords, keyBits = 32 * keyWords, kind = 'inner', passBytes } = request
    const predicate = request.predicate ?? { type: 'equal' }
    const choice = choose(request, predicate, work.device.facts.software)
    const sides = rolesOf({ left, right }, choice.build)
    const rows = { left: left.count, right: right.count }
    const single = predicate.type === 'equal' && sides.build.unique === true
    return this.#inPart(work, (scratch) => {
      const result = { rows, kind, passBytes, choice, single }
      if (left.count === 0 || right.count === 0) return this.#count(work, scratch, result, undefined)
      const range = rangeOf(predicate, choice, keyWords)
      return this.#find({ work, scratch, sides, keyWords, keyBits, range }, result)
    })
  }

  /**
   * As `join`, with an index of the server, which is not needed any more once this has settled and the work is submitted.
   * @returns undefined where the matches are more than there is room for beside it; other joins need less
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  joinByTree(work: DeviceWork, request: TreeJoinRequest): Promise<JoinResult | undefined> {
    const { index, build, buildRows, probe, probeRows, kind = 'inner', passBytes } = request
    const { costs = {} } = request
    const rows =
      build === 'left' ? { left: buildRows, right: probeRows } : { left: probeRows, right: buildRows }
    const choice = { algorithm: 'inlj', build, costs } as const
    const result = { rows, kind, passBytes, choice, single: false }
    return this.#inPart(work, async (scratch) => {
      if (buildRows === 0 || probe.count === 0) return this.#count(work, scratch, result, undefined)
      const matches = await index.match(this.#parts, work, scratch, probe)
      return matches && this.#count(work, scratch, result, matches)
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

  async #count(
    work: DeviceWork,
    scratch: Scratch,
    request: ResultRequest,
    matches: Matches | undefined,
  ): Promise<JoinResult> {
    const { result } = await JoinResult.count(this.#parts, request, work, scratch, matches)
    return result
  }

  #find(finding: Finding, request: ResultRequest): Promise<JoinResult> {
    const { work, scratch, sides, keyWords, range } = finding
    const count = (matches: Matches) => this.#count(work, scratch, request, matches)
    switch (request.choice.algorithm) {
      case 'ninlj':
        return count(this.#algorithms[keyWords].ninlj.match(work.recorder, scratch, sides, range))
      case 'inlj':
        return count(this.#matchByIndex(finding))
      case 'smj':
        return count(this.#matchByMerge(finding))
      case 'hj':
        return this.#joinByHash(finding, request)
    }
  }

  /** That no partition is too large is looked at when all is done: hardly ever is one. */
  async #joinByHash(finding: Finding, request: ResultRequest): Promise<JoinResult> {
    const { work, scratch, sides, keyWords } = finding
    const { hj } = this.#algorithms[keyWords]
    const partitioned = hj.partition(work.recorder, scratch, sides)
    const matches = hj.match(work.recorder, scratch, partitioned)
    const { mostChunks } = partitioned
    const counted: CountedResult = await JoinResult.count(
      this.#parts,
      request,
      work,
      scratch,
      matches,
      mostChunks,
    )
    if (counted.word === 0) return counted.result
    const found = await hj.matchChunks(work, scratch, partitioned)
    return this.#count(work, scratch, request, found ?? this.#matchByMerge(finding))
  }

  #matchByIndex(finding: Finding): Matches {
    const { work, scratch, sides, keyWords, range } = finding
    const build = this.#ordered(finding, sides.build)
    const probe = this.#orderedProbes(finding)
    const runs = this.#algorithms[keyWords].inlj.record(work.recorder, scratch, { probe, build }, range)
    const rows = { probe: probe.rows, build: build.rows }
    return { algorithm: 'inlj', ...runs, probes: probe.count, rows, period: probe.count }
  }

  /** Many probes of a GPU are put in order of their leading byte, so that neighbours look into the same lines of memory. */
  #orderedProbes(finding: Finding): Ordered {
    const { work, sides, keyBits } = finding
    const { probe } = sides
    const isFew = work.device.facts.software || probe.count < ORDERED_PROBES
    if (isFew || probe.sorted || keyBits === 0) return { ...probe, rows: undefined }
    const from = BYTE_BITS * (Math.ceil(keyBits / BYTE_BITS) - 1)
    return this.#sort(finding, probe, { from, bits: keyBits })
  }

  #matchByMerge(finding: Finding): Matches {
    const { work, scratch, sides, keyWords, range } = finding
    const probe = this.#ordered(finding, sides.probe)
    const build = this.#ordered(finding, sides.build)
    const runs = this.#algorithms[keyWords].smj.record(work.recorder, scratch, { probe, build }, range)
    const rows = { probe: probe.rows, build: build.rows }
    return { algorithm: 'smj', ...runs, probes: probe.count, rows, period: probe.count }
  }

  #ordered(finding: Finding, side: JoinSide): Ordered {
    // Without bits to tell them apart all keys are equal.
    if (side.sorted || finding.keyBits === 0) return { ...side, rows: undefined }
    return this.#sort(finding, side, { bits: finding.keyBits })
  }

  #sort({ work, scratch, keyWords }: Finding, { keys, count }: JoinSide, bits: SortOptions): Ordered {
    const sorted = this.#primitives.sort(work.recorder, scratch, keys, undefined, count, keyWords, bits)
    return { keys: sorted.keys, rows: sorted.values, count }
  }
}

function choose(request: JoinRequest, predicate: JoinPredicate, software: boolean): JoinChoice {
  const { keyWords, kind = 'inner', algorithm = 'auto', passBytes } = request
  if (!(passBytes >= 8)) {
    throw new WarpdexError('BAD_REQUEST', `a pass of ${passBytes} bytes holds no pair, which takes 8`)
  }
  const band = predicate.type === 'band'
  if (algorithm === 'hj' && band) {
    throw new WarpdexError(
      'BAD_REQUEST',
      'a hash join finds equal keys only; a band takes ninlj, inlj or smj',
    )
  }
  const factsOf = ({ count, sorted = false }: JoinSide) => ({ count, sorted, indexed: false })
  const sides = { left: factsOf(request.left), right: factsOf(request.right) }
  return chooseJoin({ ...sides, keyWords, band, kind, software }, algorithm)
}

/** What keys a probe matches, as its side sees the predicate. */
function rangeOf(predicate: JoinPredicate, { build }: JoinChoice, keyWords: KeyWords): KeyRange {
  const delta = predicate.type === 'band' ? predicate.delta : 0n
  if (delta < 0n)
    throw new WarpdexError('BAD_REQUEST', `a band of ${delta} below 0 holds no key; give 0 or more`)
  const largest = 2n ** BigInt(32 * keyWords) - 1n
  const width = delta < largest ? delta : largest
  return build === 'right' ? { below: 0n, above: width } : { below: width, above: 0n }
}
