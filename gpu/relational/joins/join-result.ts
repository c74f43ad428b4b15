import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import type { JoinChoice } from './join-choice.js'
import type { JoinKind, JoinPass, SideName } from './join-types.js'
import { NO_ROW } from './join-types.js'
import type { MatchedRows, RowFlags, Wanted } from './matched.js'
import type { Matches, Roles } from './matches.js'
import { type PairParts, PairPasses, type WrittenPairs } from './pair-passes.js'
import { type Tally, talliesFrom } from './tally.js'

/** Bytes of a pair of row numbers. */
const PAIR_BYTES = 8

/** What results are counted and written with. */
export interface ResultParts extends PairParts {
  readonly matched: MatchedRows
}

/** What a result is about. */
export interface ResultRequest {
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
  readonly rows: GPUBuffer
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
  readonly buildFlags: RowFlags | undefined
}

/** What may be found along with the counts. */
export interface CountedResult {
  readonly result: JoinResult
  /** The word that was to be read, too; 0 where there was none. */
  readonly word: number
}

/** A join whose results are counted. Its memory on the device is held until `destroy`. */
export class JoinResult {
  /** How the pairs were found: by SMJ after all where HJ was chosen and there were too many equal keys. */
  readonly choice: JoinChoice
  /** Pairs that match; rows that match nothing are not among them. Undefined of semi and anti joins, which look for rows only. */
  readonly pairs: number | undefined
  readonly #parts: ResultParts
  readonly #request: ResultRequest
  readonly #work: DeviceWork
  readonly #scratch: Scratch
  readonly #counted: Counted

  private constructor(
    parts: ResultParts,
    request: ResultRequest,
    work: DeviceWork,
    scratch: Scratch,
    counted: Counted,
  ) {
    this.choice = {
      ...request.choice,
      algorithm: counted.matches?.algorithm ?? request.choice.algorithm,
    }
    this.pairs = listsRows(request.kind) ? undefined : counted.tally.sum
    this.#parts = parts
    this.#request = request
    this.#work = work
    this.#scratch = scratch
    this.#counted = counted
  }

  /**
   * Counts what there is of matches. Waits for the device once.
   * @param scratch holds the matches, and is the result's from now on
   * @param matches undefined where a side is empty
   * @param word is read along with the counts
   */
  static async count(
    parts: ResultParts,
    request: ResultRequest,
    work: DeviceWork,
    scratch: Scratch,
    matches: Matches | undefined,
    word?: DeviceWord,
  ): Promise<CountedResult> {
    const { rows, kind, choice } = request
    const flagsOf = (side: SideName): RowFlags | undefined => {
      const wanted = wantedRows(kind)[side]
      return wanted && rows[side] > 0 ? parts.matched.flags(work, scratch, rows[side], wanted) : undefined
    }
    const buildFlags = flagsOf(choice.build)
    const probeFlags = flagsOf(otherSide(choice.build))
    if (matches !== undefined && probeFlags !== undefined) parts.matched.markProbes(work, matches, probeFlags)
    const listed = probeFlags && parts.matched.list(work, scratch, probeFlags)
    const pairs =
      matches === undefined || listsRows(kind)
        ? undefined
        : recordPairs(parts, request, work, scratch, matches, buildFlags)
    const words = [...(pairs?.words ?? []), ...(listed ? [listed.total] : []), ...(word ? [word] : [])]
    const read = words.length === 0 ? [] : await work.read(words)
    const { tally, written } = pairs?.counted(read) ?? { tally: { sum: 0, largest: 0 }, written: undefined }
    const total = read[pairs?.words.length ?? 0] ?? 0
    const counted: Counted = {
      matches,
      tally,
      pairs: written,
      probeRows: listed && { rows: listed.rows, count: total },
      buildFlags,
    }
    const result = new JoinResult(parts, request, work, scratch, counted)
    return { result, word: word === undefined ? 0 : read.at(-1)! }
  }

  /** The results, in passes of `passBytes`, recorded when they are asked for. May be gone through once. */
  async *passes(): AsyncGenerator<JoinPass, void, undefined> {
    const { kind, choice } = this.#request
    const { probeRows, buildFlags } = this.#counted
    if (!listsRows(kind)) yield* this.#pairPasses()
    if (probeRows !== undefined) yield* this.#rowPasses(otherSide(choice.build), probeRows)
    if (buildFlags === undefined) return
    const { rows, total } = this.#parts.matched.list(this.#work, this.#scratch, buildFlags)
    const [count] = await this.#work.read([total])
    yield* this.#rowPasses(choice.build, { rows, count: count! })
  }

  /** Gives the join's memory back. */
  destroy(): void {
    this.#work.submit()
    this.#scratch.release()
  }

  async *#pairPasses(): AsyncGenerator<JoinPass, void, undefined> {
    const { choice, single, passBytes } = this.#request
    const { matches, tally, pairs, buildFlags } = this.#counted
    if (matches === undefined || tally.sum === 0) return
    const isInOrder = matches.rows.probe === undefined && matches.period === matches.probes
    // A probe that comes several times is not above the one before.
    const ascending = isInOrder && (single || tally.largest <= 1) ? otherSide(choice.build) : undefined
    const capacity = capacityOf(this.#work, passBytes)
    const passes = new PairPasses(this.#parts, this.#work, this.#scratch, matches, buildFlags?.flags)
    const all = pairs === undefined ? passes.write(tally, capacity) : [pairs]
    for await (const { columns, count } of all) {
      const [left, right] = [columns.probe, columns.build]
      yield {
        ...(choice.build === 'left' ? { left: right, right: left } : { left, right }),
        count,
        ascending,
      }
    }
  }

  *#rowPasses(name: SideName, list: RowList): Generator<JoinPass, void, undefined> {
    const { kind, passBytes } = this.#request
    const work = this.#work
    const capacity = capacityOf(work, passBytes)
    for (let first = 0; first < list.count; first += capacity) {
      const count = Math.min(capacity, list.count - first)
      const rows = work.words(count)
      work.recorder.copy(list.rows, first * 4, rows, 0, count * 4)
      let absent: GPUBuffer | undefined
      if (!listsRows(kind)) {
        absent = work.words(count)
        this.#parts.primitives.fill(work.recorder, absent, count, NO_ROW)
      }
      const [left, right] = name === 'left' ? [rows, absent] : [absent!, rows]
      yield { left, right, count, ascending: name }
    }
  }
}

/** The counting of pairs, and what was read of it. */
interface RecordedPairs {
  readonly words: readonly DeviceWord[]
  readonly counted: (read: readonly number[]) => {
    readonly tally: Tally
    readonly written: WrittenPairs | undefined
  }
}

/** Counts pairs; where no probe has several, and there is room for one of each, they are written without waiting for their number. */
function recordPairs(
  { primitives, expansion, tallies }: ResultParts,
  { single, passBytes }: ResultRequest,
  work: DeviceWork,
  scratch: Scratch,
  matches: Matches,
  buildFlags: RowFlags | undefined,
): RecordedPairs {
  const { counts, probes, tally } = matches
  if (tally !== undefined) return { words: [], counted: () => ({ tally, written: undefined }) }
  if (!single || probes > capacityOf(work, passBytes)) {
    const words = tallies.record(work.recorder, scratch, [{ counts, count: probes }])
    return {
      words,
      counted: (read) => ({ tally: talliesFrom(read.slice(0, words.length))[0]!, written: undefined }),
    }
  }
  const [positions, total] = [scratch.words(probes), scratch.words(1)]
  const word = { buffer: total, index: 0 }
  primitives.compact(work.recorder, scratch, counts, probes, positions, word)
  const columns = { probe: work.words(probes), build: work.words(probes) }
  const writer = expansion.single(matches, { positions, total })
  writer(work, { begin: 0, end: probes }, columns, buildFlags?.flags)
  return {
    words: [word],
    counted: ([count = 0]) => ({ tally: { sum: count, largest: 1 }, written: { columns, count } }),
  }
}

/** Whether a kind of join returns rows of one side, and no pairs. */
function listsRows(kind: JoinKind): boolean {
  return kind === 'semi' || kind === 'anti'
}

/** The rows that a kind of join returns by themselves. */
function wantedRows(kind: JoinKind): Readonly<Partial<Record<SideName, Wanted>>> {
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
function capacityOf({ device }: DeviceWork, passBytes: number): number {
  // Each of the two columns is bound as a whole.
  const bytes = Math.min(passBytes, 2 * device.facts.bindingBytes)
  return Math.max(1, Math.floor(bytes / PAIR_BYTES))
}

function otherSide(side: SideName): SideName {
  return side === 'left' ? 'right' : 'left'
}

/** What belongs to both sides, by what they do. */
export function rolesOf<T>(sides: Readonly<Record<SideName, T>>, build: SideName): Roles<T> {
  return build === 'left'
    ? { probe: sides.right, build: sides.left }
    : { probe: sides.left, build: sides.right }
}
