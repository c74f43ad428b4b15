import type { GetResult, ReadColumns, ReadOp, ReadRequest } from '../../gpu/index-structure.js'
import { type Column, countOf, joinColumns, sliceColumn } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'

/** What one call asks for. */
interface Waiting<Asked, Answer> {
  readonly asked: Asked
  readonly resolve: (answer: Answer | Promise<Answer>) => void
  readonly reject: (error: unknown) => void
}

export interface CoalescerOptions<Asked, Answer> {
  /** How many questions are under way at a time. The more there are, the fewer calls go together. */
  readonly underWay: number
  /** Asks for all of it at once, and gives each its part of the answer. */
  readonly ask: (together: readonly Asked[]) => Promise<readonly (Answer | Promise<Answer>)[]>
  /** The share of a full group that a call takes: a group is closed at 1. */
  readonly share: (asked: Asked) => number
  /** Told how many went together, and how many milliseconds the first of them waited for that. */
  readonly onLeave?: ((calls: number, milliseconds: number) => void) | undefined
}

/**
 * Has small calls go together where each costs as much as many. Those that come at once, and find nothing under way, go at once; those that
 * come while as many are under way as may be go together when one of them is answered.
 */
export class Coalescer<Asked, Answer> {
  readonly #options: CoalescerOptions<Asked, Answer>
  readonly #waiting: Waiting<Asked, Answer>[] = []
  /** When the oldest waiting call began to wait; 0 if none does. */
  #waitingSince = 0
  #underWay = 0

  constructor(options: CoalescerOptions<Asked, Answer>) {
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#underWay === 0 && this.#waiting.length === 0
  }

  call(asked: Asked): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject })
      if (this.#waiting.length > 1) return
      if (this.#underWay < this.#options.underWay) queueMicrotask(() => this.#advance())
      else this.#waitingSince = performance.now()
    })
  }

  /** Lets all that waits go, so that what comes after it takes effect after it. */
  flush(): void {
    this.#advance(Number.POSITIVE_INFINITY)
  }

  #advance(most = this.#options.underWay): void {
    while (this.#underWay < most && this.#waiting.length > 0) void this.#ask(this.#take())
  }

  #take(): readonly Waiting<Asked, Answer>[] {
    const { share, onLeave } = this.#options
    let filled = 0
    let taken = 0
    while (taken < this.#waiting.length && filled < 1) filled += share(this.#waiting[taken++]!.asked)
    onLeave?.(taken, this.#waitingSince === 0 ? 0 : performance.now() - this.#waitingSince)
    // Approximate: the calls that remain arrived later.
    if (taken === this.#waiting.length) this.#waitingSince = 0
    return this.#waiting.splice(0, taken)
  }

  async #ask(together: readonly Waiting<Asked, Answer>[]): Promise<void> {
    this.#underWay++
    try {
      const answers = await this.#options.ask(together.map(({ asked }) => asked))
      together.forEach(({ resolve }, i) => {
        resolve(answers[i]!)
      })
    } catch (error) {
      for (const { reject } of together) reject(error)
    }
    this.#underWay--
    this.#advance()
  }
}

/** What one shared dispatch takes. */
const SHARED = { keys: 65_536, bytes: 4 * 2 ** 20 }

/** Dispatches under way: one goes up, one computes and one comes back. */
const DISPATCHES = 3

/** A read of one entry a key. */
export type EntryRequest = ReadRequest<'get'> | ReadRequest<'getNext'>

/** Where such reads begin. */
type Positions = Pick<ReadColumns, 'sequences'> & { readonly keys: Column }

/** What they find: an entry for each position, of a get without its key. */
type FoundEntries = GetResult & { readonly keys?: Column | undefined }

/**
 * Lets small gets and `getNext`s of an index share dispatches, those that ask alike: a dispatch and its readback cost as much as tens of thousands
 * of lookups.
 */
export class GatheredReads {
  readonly #run: (request: EntryRequest, positions: Positions) => Promise<FoundEntries>
  readonly #onDispatch: CoalescerOptions<Positions, FoundEntries>['onLeave']
  /** By what they ask, see `kindOf`. */
  readonly #alike: (Coalescer<Positions, FoundEntries> | undefined)[] = []

  /**
   * @param run finds entries
   * @param onDispatch told how many reads went together, and how long the first of them waited for that
   */
  constructor(
    run: (request: EntryRequest, positions: Positions) => Promise<FoundEntries>,
    onDispatch?: CoalescerOptions<Positions, FoundEntries>['onLeave'],
  ) {
    this.#run = run
    this.#onDispatch = onDispatch
  }

  /** What the request finds; it names no traversal. */
  read(request: EntryRequest, positions: Positions): Promise<FoundEntries> {
    const kind = kindOf(request, positions)
    let alike = this.#alike[kind]
    if (alike === undefined) {
      // Memory is lent for one reply.
      alike = this.#coalescer(request.op === 'get' ? { ...request, memory: undefined } : request)
      this.#alike[kind] = alike
    }
    return alike.call(positions)
  }

  #coalescer(request: EntryRequest): Coalescer<Positions, FoundEntries> {
    return new Coalescer({
      underWay: DISPATCHES,
      share: ({ keys }) =>
        Math.max(paddedCount(countOf(keys)) / SHARED.keys, keys.bytes.byteLength / SHARED.bytes),
      onLeave: this.#onDispatch,
      ask: (reads) => this.#ask(request, reads),
    })
  }

  async #ask(
    request: EntryRequest,
    reads: readonly Positions[],
  ): Promise<readonly (FoundEntries | Promise<FoundEntries>)[]> {
    const [first] = reads
    if (reads.length === 1 && first !== undefined) return [await this.#run(request, first)]
    const counts = reads.map(({ keys }) => countOf(keys))
    try {
      const { found, keys, payloads, sequences } = await this.#run(request, joined(reads, counts))
      return cutShared(found, counts, (ownFound, start, count) => {
        const part = (column: Column) => sliceColumn(column, start, start + count)
        const entries = { found: ownFound, payloads: part(payloads) }
        if (sequences === undefined) return entries
        return { ...entries, keys: keys && part(keys), sequences: part(sequences) }
      })
    } catch (error) {
      // Together the keys that they find may be more than one result holds.
      if (!(error instanceof WarpdexError) || error.code !== 'TOO_LARGE') throw error
      return reads.map((read) => this.#run(request, read))
    }
  }
}

/** The number of all that ask alike. */
function kindOf(request: EntryRequest, { sequences }: Positions): number {
  if (request.op === 'get') return request.withSequences ? 1 : 0
  return 2 + (request.reverse ? 1 : 0) + (sequences ? 2 : 0)
}

/** The positions of all. */
function joined(reads: readonly Positions[], counts: readonly number[]): Positions {
  const rooms = counts.map(paddedCount)
  const sequences = reads.flatMap(({ sequences }) => sequences ?? [])
  return {
    keys: joinColumns(
      reads.map(({ keys }) => keys),
      rooms,
    ),
    sequences: sequences.length > 0 ? joinColumns(sequences, rooms) : undefined,
  }
}

/** Each read that goes with others starts at a multiple of eight keys, so that its part of the `found` bitmap starts with a byte. */
export function paddedCount(count: number): number {
  return Math.ceil(count / 8) * 8
}

/**
 * Cuts the answer to reads that went together.
 * @param found the bitmap of all, whose last bits of each read are cleared: the keys that pad were looked up, too
 * @param cut makes one read's answer of its bitmap, and of where its keys start among all
 */
export function cutShared<T>(
  found: Uint8Array,
  counts: readonly number[],
  cut: (found: Uint8Array, start: number, count: number) => T,
): readonly T[] {
  let start = 0
  return counts.map((count) => {
    const own = found.subarray(start / 8, (start + paddedCount(count)) / 8)
    if ((count & 7) !== 0) own[own.length - 1]! &= (1 << (count & 7)) - 1
    const answer = cut(own, start, count)
    start += paddedCount(count)
    return answer
  })
}

/** Keys of a read, or entries of its result, that are too few to hold up others. */
export const SMALL_READ = 4096
/** The same of bytes of keys. */
const SMALL_BYTES = 256 * 1024

/** Whether a read of these keys shares a dispatch. One that does is answered as the planner finds best for all of them. */
export function goesWithOthers(request: ReadRequest<ReadOp>, keys: Column): request is EntryRequest {
  const { op } = request
  if (op !== 'get' && op !== 'getNext') return false
  if ('traversal' in request && request.traversal !== undefined) return false
  return countOf(keys) <= SMALL_READ && keys.bytes.byteLength <= SMALL_BYTES
}
