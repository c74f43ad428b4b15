import type { JoinKind } from '../../../protocol/query/tree.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Expansion, PairSource, WrittenPairs } from './expand.js'
import type { JoinChoice } from './join-choice.js'
import { type JoinPass, NO_ROW, type SideName } from './join-types.js'
import { listRows, noMatches, probeMatches, type RowMatches, type Wanted } from './matched.js'
import { type Matches, otherSide } from './matches.js'
import { type Tallies, type Tally, talliesFrom } from './tally.js'

/** Bytes of a pair of row numbers. */
const PAIR_BYTES = 8

/** What results are counted and written with. */
export interface ResultParts {
  readonly tallies: Tallies
  readonly expansion: Expansion
}

/** What a result is about. */
export interface ResultRequest {
  readonly work: DeviceWork
  /** Holds the matches, and is the result's from the count on. */
  readonly scratch: Scratch
  /** Rows of each side. */
  readonly rows: Readonly<Record<SideName, number>>
  readonly kind: JoinKind
  readonly passBytes: number
  readonly choice: JoinChoice
  /** Whether it is known that no probe has more than one match. */
  readonly single: boolean
}

/** Rows of a side, ascending. */
interface RowList {
  readonly rows: DeviceMemory
  readonly count: number
}

/** What was counted. */
interface Counted {
  /** Undefined where a side is empty. */
  readonly matches: Matches | undefined
  readonly tally: Tally
  /** All pairs, where they are written already. */
  readonly pairs: WrittenPairs | undefined
  readonly probeRows: RowList | undefined
  /** Which rows of the side that was built on have been written, where others are wanted. */
  readonly buildMatches: RowMatches | undefined
}

/** A join whose results are counted. Its memory on the device is held until `destroy`. */
export class JoinResult {
  /** How the pairs were found: by SMJ after all where HJ was chosen and there were too many equal keys. */
  readonly choice: JoinChoice
  /** Pairs that match; rows that match nothing are not among them. Undefined of semi and anti joins, which look for rows only. */
  readonly pairs: number | undefined
  readonly #parts: ResultParts
  readonly #request: ResultRequest
  readonly #counted: Counted

  private constructor(parts: ResultParts, request: ResultRequest, counted: Counted) {
    const { choice, kind } = request
    this.choice = { ...choice, algorithm: counted.matches?.algorithm ?? choice.algorithm }
    this.pairs = listsRows(kind) ? undefined : counted.tally.sum
    this.#parts = parts
    this.#request = request
    this.#counted = counted
  }

  /**
   * Counts what there is of matches. Waits for the device once, unless they are to be found otherwise.
   * @param matches undefined where a side is empty
   */
  static async count(
    parts: ResultParts,
    request: ResultRequest,
    matches: Matches | undefined,
  ): Promise<JoinResult> {
    const { work, scratch, rows, kind, choice } = request
    const { build } = choice
    const probe = otherSide(build)
    const wantedOf = (side: SideName) => (rows[side] > 0 ? wantedRows(kind)[side] : undefined)
    const buildMatches = wantedOf(build) && noMatches(work, scratch, rows[build])
    const wanted = wantedOf(probe)
    const listed =
      wanted && listRows(work, scratch, probeMatches(work, scratch, matches, rows[probe]), wanted)
    const pairs =
      matches && !listsRows(kind)
        ? countPairs(parts, request, { work, scratch, matches, matched: buildMatches?.flags })
        : { words: [], counted: () => NO_PAIRS }
    const others = [matches?.otherwise?.word ?? [], listed?.total ?? []].flat()
    const words = [...others, ...pairs.words]
    const read = words.length === 0 ? [] : await work.read(words)
    const isOtherwise = matches?.otherwise !== undefined && read.shift() !== 0
    if (isOtherwise) return JoinResult.count(parts, request, matches!.otherwise!.find())
    const probeRows = listed && { rows: listed.rows, count: read.shift()! }
    return new JoinResult(parts, request, { matches, ...pairs.counted(read), probeRows, buildMatches })
  }

  /** The results, in passes of `passBytes`, recorded when they are asked for. May be gone through once. */
  async *passes(): AsyncGenerator<JoinPass, void, undefined> {
    const { work, scratch, kind, choice } = this.#request
    const { probeRows, buildMatches } = this.#counted
    if (!listsRows(kind)) yield* this.#pairPasses()
    if (probeRows !== undefined) yield* this.#rowPasses(otherSide(choice.build), probeRows)
    if (buildMatches === undefined) return
    const { rows, total } = listRows(work, scratch, buildMatches, 'unmatched')
    const [count] = await work.read([total])
    yield* this.#rowPasses(choice.build, { rows, count: count! })
  }

  /** Gives the join's memory back. */
  destroy(): void {
    this.#request.work.submit()
    this.#request.scratch.release()
  }

  async *#pairPasses(): AsyncGenerator<JoinPass, void, undefined> {
    const { work, scratch, choice, single } = this.#request
    const { tally, pairs, buildMatches } = this.#counted
    const isSingle = single || tally.largest <= 1
    const matches = isSingle ? this.#counted.matches : sideBySide(this.#counted.matches)
    if (matches === undefined || tally.sum === 0) return
    // A probe that comes several times is not above the one before.
    const ascending = isSingle && matches.rows.probe === undefined ? otherSide(choice.build) : undefined
    const source = { work, scratch, matches, matched: buildMatches?.flags }
    const passes = pairs ? [pairs] : this.#parts.expansion.passes(source, tally, capacityOf(this.#request))
    for await (const { columns, count } of passes) {
      const [left, right] = [columns.probe, columns.build]
      yield {
        ...(choice.build === 'left' ? { left: right, right: left } : { left, right }),
        count,
        ascending,
      }
    }
  }

  *#rowPasses(name: SideName, list: RowList): Generator<JoinPass, void, undefined> {
    const { work, kind } = this.#request
    const capacity = capacityOf(this.#request)
    for (let first = 0; first < list.count; first += capacity) {
      const count = Math.min(capacity, list.count - first)
      const rows = work.words(count)
      work.recorder.copy(list.rows, first * 4, rows, 0, count * 4)
      let absent: DeviceMemory | undefined
      if (!listsRows(kind)) {
        absent = work.words(count)
        work.kernels.primitives.fill(work.recorder, absent, count, NO_ROW)
      }
      const [left, right] = name === 'left' ? [rows, absent] : [absent!, rows]
      yield { left, right, count, ascending: name }
    }
  }
}

/** The counting of pairs, and what was read of it. */
interface PairCount {
  readonly words: readonly DeviceWord[]
  readonly counted: (read: readonly number[]) => Pick<Counted, 'tally' | 'pairs'>
}

const NO_PAIRS = { tally: { sum: 0, largest: 0 }, pairs: undefined }

/** Counts pairs; where no probe has several, and there is room for one of each, they are written without waiting for their number. */
function countPairs(
  { expansion, tallies }: ResultParts,
  request: ResultRequest,
  source: PairSource,
): PairCount {
  const { work, scratch, matches } = source
  const { counts, probes, tally } = matches
  if (tally !== undefined) return { words: [], counted: () => ({ tally, pairs: undefined }) }
  if (!request.single || probes > capacityOf(request)) {
    const words = tallies.record(work.recorder, scratch, [{ counts, count: probes }])
    return { words, counted: (read) => ({ tally: talliesFrom(read)[0]!, pairs: undefined }) }
  }
  const { columns, total } = expansion.all(source)
  return {
    words: [total],
    counted: ([count = 0]) => ({ tally: { sum: count, largest: 1 }, pairs: { columns, count } }),
  }
}

function sideBySide(matches: Matches | undefined): Matches | undefined {
  return matches?.sideBySide?.() ?? matches
}

/** Whether a kind of join returns rows of one side, and no pairs. */
function listsRows(kind: JoinKind): boolean {
  return kind === 'semi' || kind === 'anti'
}

/** The rows that a kind of join returns by themselves. */
export function wantedRows(kind: JoinKind): Readonly<Partial<Record<SideName, Wanted>>> {
  switch (kind) {
    case 'inner':
      return {}
    case 'semi':
      return { left: 'matched' }
    case 'anti':
      return { left: 'unmatched' }
    case 'left':
    case 'right':
      return { [kind]: 'unmatched' }
    case 'full':
      return { left: 'unmatched', right: 'unmatched' }
  }
}

/** Pairs of a pass. */
function capacityOf({ work, passBytes }: ResultRequest): number {
  // Each of the two columns is bound as a whole.
  const bytes = Math.min(passBytes, 2 * work.device.facts.bindingBytes)
  return Math.max(1, Math.floor(bytes / PAIR_BYTES))
}
