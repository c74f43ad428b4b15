import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { OnDemand } from '../../primitives/on-demand.js'
import type { KeyWords, Primitives, SortOptions } from '../../primitives/primitives.js'
import { type Strategy, strategyFor } from '../../primitives/strategy.js'
import { Expansion } from './expand.js'
import { HashJoin } from './hash-join.js'
import { IndexProbe, type IndexSearch, type Runs } from './index-join.js'
import { chooseJoin, type JoinChoice, type SideFacts } from './join-choice.js'
import { DirectoryBuilder, directoryWords, type IndexColumns, JoinIndex, type KeyEnds } from './join-index.js'
import { JoinResult, markedSides, type ResultParts, rolesOf } from './join-result.js'
import type {
  JoinAlgorithm,
  JoinPredicate,
  JoinRequest,
  JoinSide,
  JoinTuning,
  TreeJoinRequest,
} from './join-types.js'
import { Matched } from './matched.js'
import type { KeyRange, Matches, Roles, Uncounted } from './matches.js'
import { NestedLoopJoin } from './nested-loop-join.js'
import { SortMerge } from './sort-merge-join.js'
import { Tallies } from './tally.js'

/** Keys in ascending order, and their rows. */
interface SortedSide {
  readonly keys: GPUBuffer
  readonly rows: GPUBuffer | undefined
  readonly count: number
}

/** What the algorithms are to find. */
interface MatchRequest {
  readonly keyWords: KeyWords
  readonly range: KeyRange
  /** Whether build rows that match are marked when pairs are written. */
  readonly mark: boolean
  readonly tuning: JoinTuning
}

/** Fewer probes than these are not put in order first: the index is in caches anyway. */
const ORDERED_PROBES = 2 ** 18
/** Leading bytes that probes are ordered by. */
const ORDERED_BYTES = 1

/** Joins of columns on the device (He et al. §4): by one of four algorithms, with results counted first and written in passes. */
export class Joins {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #parts: ResultParts
  readonly #tallies: Tallies
  readonly #directories: OnDemand<KeyWords, DirectoryBuilder>
  readonly #probes: OnDemand<readonly [KeyWords, IndexSearch], IndexProbe>
  readonly #merges: OnDemand<KeyWords, SortMerge>
  readonly #hashes: OnDemand<KeyWords, HashJoin>
  readonly #loops: OnDemand<KeyWords, NestedLoopJoin>

  private constructor(parts: ResultParts) {
    const { device, primitives } = parts
    this.#device = device
    this.#primitives = primitives
    this.#parts = parts
    this.#tallies = parts.tallies
    this.#directories = new OnDemand((keyWords) => DirectoryBuilder.create(device, keyWords))
    this.#probes = new OnDemand(([keyWords, search]) => IndexProbe.create(device, keyWords, search))
    this.#merges = new OnDemand((keyWords) => SortMerge.create(device, primitives, keyWords))
    this.#hashes = new OnDemand((keyWords) => HashJoin.create(device, primitives, parts.tallies, keyWords))
    this.#loops = new OnDemand(async (keyWords) => new NestedLoopJoin(device, primitives, keyWords))
  }

  /**
   * Makes the kernels that all joins share; those of each algorithm when it is first asked for.
   * @param strategy the one that suits the device, unless given
   */
  static async create(
    device: Device,
    primitives: Primitives,
    strategy: Strategy = strategyFor(device),
  ): Promise<Joins> {
    const [tallies, expansion] = await Promise.all([
      Tallies.create(device),
      Expansion.create(device, strategy),
    ])
    const matched = new Matched(device, primitives)
    return new Joins({ device, primitives, tallies, expansion, matched })
  }

  /**
   * Sorts a side and builds a CSS-tree over it, for joins to come.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async createIndex(side: JoinSide, keyWords: KeyWords): Promise<JoinIndex> {
    const scratch = this.#device.scratch()
    const buffers: GPUBuffer[] = []
    const recorder = scratch.record()
    try {
      const made = await this.#index(recorder, scratch, side, keyWords)
      const keep = async (buffer: GPUBuffer, bytes: number) => {
        const kept = await this.#device.allocate(Math.max(4, bytes), 'an index for joins')
        buffers.push(kept)
        recorder.copy(buffer, 0, kept, 0, bytes)
        return kept
      }
      const { count } = side
      const rows = made.rows ?? scratch.words(count)
      if (made.rows === undefined) this.#primitives.iota(recorder, rows, count)
      const keys = await keep(made.keys, count * keyWords * 4)
      const columns = {
        ...made,
        keys,
        rows: await keep(rows, count * 4),
        directory: await keep(made.directory, directoryWords(keyWords, count) * 4),
        buckets: await keep(made.buckets, (2 ** made.bucketBits + 1) * 4),
      }
      const ends = count > 0 ? await this.#submitForEnds(recorder, columns) : undefined
      return new JoinIndex(columns, ends)
    } catch (error) {
      for (const buffer of buffers) buffer.destroy()
      throw error
    } finally {
      scratch.release()
    }
  }

  /**
   * Finds and counts the pairs of rows that match. `JoinResult.passes` writes them.
   * @throws WarpdexError `BAD_REQUEST` for what no algorithm can do, `OUT_OF_DEVICE_MEMORY`, and what the given scratch memory throws
   */
  async join(request: JoinRequest): Promise<JoinResult> {
    const { left, right, keyWords, kind = 'inner', passBytes, tuning = {} } = request
    const predicate = request.predicate ?? { type: 'equal' }
    const choice = choose(request, predicate, this.#device.facts.software)
    const marked = [...new Set([...markedSides(kind), ...(request.marks ?? [])])]
    const scratch = request.scratch?.part() ?? this.#device.scratch()
    try {
      const roles = rolesOf({ left, right }, choice.build)
      const matches =
        left.count === 0 || right.count === 0
          ? undefined
          : await this.#match(scratch, roles, choice.algorithm, {
              keyWords,
              range: rangeOf(predicate, choice, keyWords),
              mark: marked.includes(choice.build),
              tuning,
            })
      return await JoinResult.create(
        this.#parts,
        { left, right, kind, passBytes, choice, marked, tuning },
        scratch,
        matches,
      )
    } catch (error) {
      scratch.release()
      throw error
    }
  }

  /**
   * As `join`, with an index of the server, which is not needed any more once this has settled.
   * @returns undefined where the matches are more than there is room for beside it; other joins need less
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async joinByTree(request: TreeJoinRequest): Promise<JoinResult | undefined> {
    const { index, build, buildRows, probe, kind = 'inner', passBytes } = request
    const built = { count: buildRows }
    const [left, right] = build === 'left' ? [built, probe] : [probe, built]
    const isEmpty = buildRows === 0 || probe.count === 0
    const scratch = request.scratch?.part() ?? this.#device.scratch()
    try {
      const matches = isEmpty ? undefined : await index.match(this.#parts, scratch, probe)
      if (matches === undefined && !isEmpty) {
        scratch.release()
        return undefined
      }
      const choice = { algorithm: 'inlj', build, costs: {} } as const
      const common = { kind, passBytes, choice, marked: markedSides(kind), tuning: {} }
      return await JoinResult.create(this.#parts, { left, right, ...common }, scratch, matches)
    } catch (error) {
      scratch.release()
      throw error
    }
  }

  async #match(
    scratch: Scratch,
    roles: Roles<JoinSide>,
    algorithm: JoinAlgorithm,
    request: MatchRequest,
  ): Promise<Matches> {
    const recorder = scratch.record()
    switch (algorithm) {
      case 'ninlj':
        return this.#matchByLoops(recorder, scratch, roles, request)
      case 'inlj':
        return this.#matchByIndex(recorder, scratch, roles, request)
      case 'smj':
        return this.#matchByMerge(recorder, scratch, roles, request)
      case 'hj':
        return this.#matchByHash(recorder, scratch, roles, request)
    }
  }

  async #count(recorder: Recorder, scratch: Scratch, found: Uncounted): Promise<Matches> {
    const { counts, probes } = found
    const [tally] = await this.#tallies.submit(recorder, scratch, [{ counts, count: probes }])
    return { ...found, tally: tally! }
  }

  async #matchByLoops(
    recorder: Recorder,
    scratch: Scratch,
    roles: Roles<JoinSide>,
    { keyWords, range, mark }: MatchRequest,
  ): Promise<Matches> {
    const loops = await this.#loops.get(keyWords)
    const matches = await this.#count(recorder, scratch, await loops.match(recorder, scratch, roles, range))
    if (matches.tally.largest <= 1) return matches
    return { ...matches, rewrite: await loops.writer(scratch, roles, range, mark) }
  }

  async #matchByHash(
    recorder: Recorder,
    scratch: Scratch,
    roles: Roles<JoinSide>,
    request: MatchRequest,
  ): Promise<Matches> {
    const hash = await this.#hashes.get(request.keyWords)
    const found = await hash.match(recorder, scratch, roles, request.tuning.partitionBits)
    if (found !== undefined) return this.#count(found.recorder, scratch, found.matches)
    return this.#matchByMerge(scratch.record(), scratch, roles, request)
  }

  async #matchByIndex(
    begun: Recorder,
    scratch: Scratch,
    { probe: given, build }: Roles<JoinSide>,
    { keyWords, range, tuning }: MatchRequest,
  ): Promise<Matches> {
    const kept = build.index
    const index = kept ?? (await this.#index(begun, scratch, build, keyWords))
    const prober = await this.#probes.get([keyWords, tuning.search ?? 'buckets'])
    const isFew = this.#device.facts.software || given.count < ORDERED_PROBES
    const ordered = tuning.orderedBytes ?? (isFew ? 0 : ORDERED_BYTES)
    let recorder = begun
    let probe: Pick<JoinSide, 'keys' | 'rows' | 'count'> = given
    if (ordered > 0 && !given.sorted) {
      let ends = kept?.ends
      if (ends === undefined) {
        ends = await this.#submitForEnds(begun, index)
        recorder = scratch.record()
      }
      probe = this.#orderProbes(recorder, scratch, given, keyWords, leadingBytes(ends, ordered))
    }
    const runs = prober.record(recorder, scratch, probe, index, range)
    const rows = { probe: probe.rows, build: index.rows }
    return this.#count(recorder, scratch, matchesOf('inlj', runs, probe.count, rows))
  }

  /** Submits what was recorded, and reads the least and the greatest key of an index. */
  async #submitForEnds(recorder: Recorder, { keys, count, keyWords }: IndexColumns): Promise<KeyEnds> {
    const bytes = 4 * keyWords
    const columns = [0, count - 1].map((place) => ({ buffer: keys, bytes, offset: place * bytes }))
    const read = await this.#device.submitAndRead(recorder, columns)
    const [least, greatest] = read.map((key) => BigInt(`0x${Buffer.from(key).reverse().toString('hex')}`))
    return [least!, greatest!]
  }

  #orderProbes(
    recorder: Recorder,
    scratch: Scratch,
    probe: JoinSide,
    keyWords: KeyWords,
    bits: SortOptions | undefined,
  ): Pick<JoinSide, 'keys' | 'rows' | 'count'> {
    if (bits === undefined) return probe
    const { keys, rows, count } = probe
    const sorted = this.#primitives.sort(recorder, scratch, keys, rows, count, keyWords, bits)
    return { keys: sorted.keys, rows: sorted.values, count }
  }

  async #matchByMerge(
    recorder: Recorder,
    scratch: Scratch,
    roles: Roles<JoinSide>,
    { keyWords, range }: MatchRequest,
  ): Promise<Matches> {
    const merge = await this.#merges.get(keyWords)
    const probe = this.#sort(recorder, scratch, roles.probe, keyWords)
    const build = this.#sort(recorder, scratch, roles.build, keyWords)
    const runs = merge.record(recorder, scratch, { probe, build }, range)
    const rows = { probe: probe.rows, build: build.rows }
    return this.#count(recorder, scratch, matchesOf('smj', runs, probe.count, rows))
  }

  #sort(recorder: Recorder, scratch: Scratch, side: JoinSide, keyWords: KeyWords): SortedSide {
    const { index, keys, rows, count } = side
    if (index !== undefined) return index
    if (side.sorted) return { keys, rows, count }
    const sorted = this.#primitives.sort(recorder, scratch, keys, rows, count, keyWords)
    return { keys: sorted.keys, rows: sorted.values, count }
  }

  async #index(
    recorder: Recorder,
    scratch: Scratch,
    side: JoinSide,
    keyWords: KeyWords,
  ): Promise<IndexColumns> {
    const builder = await this.#directories.get(keyWords)
    const { keys, rows, count } = this.#sort(recorder, scratch, side, keyWords)
    return { keyWords, count, keys, rows, ...builder.record(recorder, scratch, keys, count) }
  }
}

function matchesOf(algorithm: JoinAlgorithm, runs: Runs, probes: number, rows: Matches['rows']): Uncounted {
  return { algorithm, ...runs, probes, rows, period: probes }
}

/** The leading bytes that tell apart keys between two ends, as bits to sort by; undefined where none do. */
function leadingBytes([least, greatest]: KeyEnds, bytes: number): SortOptions | undefined {
  const bits = least === greatest ? 0 : (least ^ greatest).toString(2).length
  const from = Math.max(0, 8 * Math.ceil(bits / 8 - bytes))
  return bits > from ? { from, bits } : undefined
}

function choose(request: JoinRequest, predicate: JoinPredicate, software: boolean): JoinChoice {
  const { left, right, keyWords, kind = 'inner', algorithm = 'auto', passBytes, tuning = {} } = request
  if (!(passBytes >= 8)) {
    throw new WarpdexError('BAD_REQUEST', `a pass of ${passBytes} bytes holds no pair, which takes 8`)
  }
  if (algorithm === 'hj' && predicate.type === 'band') {
    throw new WarpdexError(
      'BAD_REQUEST',
      'a hash join finds equal keys only; a band takes ninlj, inlj or smj',
    )
  }
  const band = predicate.type === 'band'
  const sides = { left: factsOf(left, keyWords), right: factsOf(right, keyWords) }
  return chooseJoin(
    { ...sides, keyWords, band, kind, software },
    { ...(algorithm !== 'auto' && { algorithm }), ...(tuning.build && { build: tuning.build }) },
  )
}

function factsOf({ count, sorted = false, index }: JoinSide, keyWords: KeyWords): SideFacts {
  if (index !== undefined && index.keyWords !== keyWords) {
    throw new WarpdexError(
      'BAD_REQUEST',
      `the index has keys of ${index.keyWords} words, the join has keys of ${keyWords}; they must be the same`,
    )
  }
  return { count, sorted: sorted || index !== undefined, index: index && 'join' }
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
