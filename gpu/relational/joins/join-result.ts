import type { Scratch } from '../../memory/scratch.js'
import type { JoinChoice } from './join-choice.js'
import type { JoinKind, JoinPass, JoinTuning, SideName, SideRows } from './join-types.js'
import type { Matched } from './matched.js'
import type { Matches, Roles } from './matches.js'
import { type PairParts, PairPasses } from './pair-passes.js'

/** Bytes of a pair of row numbers. */
const PAIR_BYTES = 8

/** What results are written with. */
export interface ResultParts extends PairParts {
  readonly matched: Matched
}

/** What a result is about. */
export interface ResultRequest {
  readonly left: SideRows
  readonly right: SideRows
  readonly kind: JoinKind
  readonly passBytes: number
  readonly choice: JoinChoice
  /** Sides whose matching rows must be known. */
  readonly marked: readonly SideName[]
  readonly tuning: JoinTuning
}

/** A join whose pairs are counted, and not yet written. Its memory on the device is held until `destroy`. */
export class JoinResult {
  /** How the pairs were found: by SMJ after all where HJ was chosen and there were too many equal keys. */
  readonly choice: JoinChoice
  /** Pairs that match; rows that match nothing, or are returned for matching anything, are not among them. */
  readonly pairs: number
  /**
   * A bit for each row, bit row % 32 of word row / 32, set for those that match: of a side that is built on only when all passes with
   * pairs were submitted. Of the sides for which it was asked for, or the kind of join needs it.
   */
  readonly marks: Readonly<Partial<Record<SideName, GPUBuffer>>>
  readonly #parts: ResultParts
  readonly #request: ResultRequest
  readonly #scratch: Scratch
  readonly #matches: Matches | undefined

  private constructor(
    parts: ResultParts,
    request: ResultRequest,
    scratch: Scratch,
    matches: Matches | undefined,
    marks: Partial<Record<SideName, GPUBuffer>>,
  ) {
    this.choice = { ...request.choice, algorithm: matches?.algorithm ?? request.choice.algorithm }
    this.pairs = matches?.tally.sum ?? 0
    this.#parts = parts
    this.#request = request
    this.#scratch = scratch
    this.#matches = matches
    this.marks = marks
  }

  /**
   * @param scratch holds the matches, and is the result's from now on
   * @param matches undefined where a side is empty
   */
  static async create(
    parts: ResultParts,
    request: ResultRequest,
    scratch: Scratch,
    matches: Matches | undefined,
  ): Promise<JoinResult> {
    const { matched } = parts
    const { choice, left, right, marked } = request
    const marks: Partial<Record<SideName, GPUBuffer>> = {}
    if (marked.length > 0) {
      const recorder = scratch.record()
      for (const side of marked) {
        const buffer = matched.recordMarks(recorder, scratch, side === 'left' ? left : right)
        marks[side] = buffer
        if (side !== choice.build && matches !== undefined) {
          await matched.markProbes(recorder, matches, buffer)
        }
      }
      recorder.submit()
    }
    return new JoinResult(parts, request, scratch, matches, marks)
  }

  /**
   * The results, in passes of `passBytes`. Those of a pass are in memory that the next one is written to: what reads them must have
   * been submitted before that is asked for. May be gone through once.
   */
  async *passes(): AsyncGenerator<JoinPass, void, undefined> {
    const { kind, left, right } = this.#request
    if (kind === 'semi' || kind === 'anti') {
      yield* this.#rowPasses('left', left, kind === 'semi', false)
      return
    }
    yield* this.#pairPasses()
    if (kind === 'left' || kind === 'full') yield* this.#rowPasses('left', left, false, true)
    if (kind === 'right' || kind === 'full') yield* this.#rowPasses('right', right, false, true)
  }

  /** Gives the join's memory back, when the work that reads its last pass is submitted. */
  destroy(): void {
    this.#scratch.release()
  }

  async *#pairPasses(): AsyncGenerator<JoinPass, void, undefined> {
    if (this.#matches === undefined || this.pairs === 0) return
    const { choice, tuning } = this.#request
    const capacity = this.#capacity(this.pairs)
    const columns = { left: this.#scratch.words(capacity), right: this.#scratch.words(capacity) }
    const passes = new PairPasses(this.#parts, this.#matches, tuning, this.marks[choice.build])
    const written = passes.write(this.#scratch, rolesOf(columns, choice.build), capacity)
    for await (const count of written) yield { ...columns, count }
  }

  /** Rows of a side that match something, or nothing. */
  async *#rowPasses(
    name: SideName,
    side: SideRows,
    marked: boolean,
    pairs: boolean,
  ): AsyncGenerator<JoinPass, void, undefined> {
    if (side.count === 0) return
    const { matched } = this.#parts
    const scratch = this.#scratch.part()
    try {
      const list = await matched.list(scratch.record(), scratch, side, this.marks[name]!, marked)
      const capacity = this.#capacity(list.count)
      const taken = scratch.words(capacity)
      const absent = pairs ? scratch.words(capacity) : undefined
      for (let first = 0; first < list.count; first += capacity) {
        const count = Math.min(capacity, list.count - first)
        const recorder = scratch.record()
        await matched.take(recorder, list, first, count, taken, absent)
        recorder.submit()
        const [left, right] = name === 'left' ? [taken, absent] : [absent!, taken]
        yield { left, right, count }
      }
    } finally {
      scratch.release()
    }
  }

  #capacity(results: number): number {
    // Each of the two columns is bound as a whole.
    const bytes = Math.min(this.#request.passBytes, 2 * this.#parts.device.facts.bindingBytes)
    return Math.max(1, Math.min(results, Math.floor(bytes / PAIR_BYTES)))
  }
}

/** Sides whose matching rows a kind of join needs to know. */
export function markedSides(kind: JoinKind): readonly SideName[] {
  if (kind === 'inner') return []
  if (kind === 'full') return ['left', 'right']
  return [kind === 'right' ? 'right' : 'left']
}

/** What belongs to both sides, by what they do. */
export function rolesOf<T>(sides: Readonly<Record<SideName, T>>, build: SideName): Roles<T> {
  return build === 'left'
    ? { probe: sides.right, build: sides.left }
    : { probe: sides.left, build: sides.right }
}
