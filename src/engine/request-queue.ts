import { WarpdexError } from '../../protocol/errors.js'
import type { Cancellation } from './index-requests.js'

/** Turns of an index's queue. `grant` begins a read, or what is exclusive. */
type Waiting<Write> = (
  | { readonly kind: 'read' | 'exclusive'; readonly grant: () => void }
  | { readonly kind: 'write'; readonly write: Write }
) & {
  /** When it was found to have to wait; undefined for what starts at once, which spares that a look at the clock. */
  since?: number
}

/** What comes behind a batch of writes that is running. */
export interface Followers<Write> {
  /** Takes the batch that has come to the head meanwhile, if it is of the same kind; to be answered too. */
  take(): readonly Write[]
  /** Resolves as soon as there is such a batch. */
  arrival(): Promise<void>
}

/** Answers every write that it is given; does not reject. */
type RunWrites<Write> = (writes: readonly Write[], followers: Followers<Write>) => Promise<void>

/**
 * The requests of one index in order of arrival. Neighbouring reads run together; a write or an exclusive task waits for all
 * before it and holds up all after it. Neighbouring writes of one kind are handed over together, so that they share one log
 * record and one sync: while one batch of writes is being made durable, the next one gathers here.
 */
export class RequestQueue<Write> {
  readonly #runWrites: RunWrites<Write>
  readonly #weigh: (write: Write) => number
  readonly #kindOf: (write: Write) => unknown
  readonly #onTurn: (milliseconds: number) => void
  readonly #waiting: Waiting<Write>[] = []
  #reads = 0
  #exclusive = false
  #onArrival: (() => void) | undefined

  /**
   * @param runWrites runs one batch of writes, and those behind it that it takes
   * @param weigh how much of a batch a write fills; those that go together fill one at the most
   * @param kindOf only writes of one kind go together
   * @param onTurn told how long a read or a write waited
   */
  constructor(
    runWrites: RunWrites<Write>,
    weigh: (write: Write) => number,
    kindOf: (write: Write) => unknown = () => undefined,
    onTurn: (milliseconds: number) => void = () => {},
  ) {
    this.#runWrites = runWrites
    this.#weigh = weigh
    this.#kindOf = kindOf
    this.#onTurn = onTurn
  }

  /** Whether a read that comes now would start at once. */
  get startsReads(): boolean {
    return !this.#exclusive && this.#waiting.length === 0
  }

  /** Runs a task beside other reads: before this returns if its turn has come. */
  async read<T>(run: () => Promise<T>): Promise<T> {
    if (this.startsReads) {
      this.#reads++
      this.#onTurn(0)
    } else await new Promise<void>((grant) => this.#add({ kind: 'read', grant }))
    try {
      return await run()
    } finally {
      this.#reads--
      this.#advance()
    }
  }

  /** Runs a task with no other task of the index beside it. */
  async exclusive<T>(run: () => Promise<T>): Promise<T> {
    if (this.startsReads && this.#reads === 0) this.#exclusive = true
    else await new Promise<void>((grant) => this.#add({ kind: 'exclusive', grant }))
    try {
      return await run()
    } finally {
      this.#exclusive = false
      this.#advance()
    }
  }

  write(write: Write): void {
    this.#add({ kind: 'write', write })
  }

  #add(waiting: Waiting<Write>): void {
    this.#waiting.push(waiting)
    this.#advance()
    if (this.#waiting.at(-1) !== waiting) return
    waiting.since = performance.now()
    if (this.#waiting.length === 1) this.#onArrival?.()
  }

  #begin({ since }: Waiting<Write>): void {
    this.#onTurn(since === undefined ? 0 : performance.now() - since)
  }

  /** Begins what is next, as far as it need not wait for what runs. */
  #advance(): void {
    while (!this.#exclusive) {
      const next = this.#waiting[0]
      if (next === undefined || (next.kind !== 'read' && this.#reads > 0)) return
      if (next.kind === 'write') this.#startWrites(next.write)
      else {
        this.#waiting.shift()
        if (next.kind === 'exclusive') this.#exclusive = true
        else {
          this.#reads++
          this.#begin(next)
        }
        next.grant()
      }
    }
  }

  #startWrites(first: Write): void {
    this.#exclusive = true
    const kind = this.#kindOf(first)
    const followers = { take: () => this.#takeWrites(kind), arrival: () => this.#arrival(kind) }
    void this.#runWrites(this.#takeWrites(kind), followers).then(() => {
      this.#exclusive = false
      this.#advance()
    })
  }

  #arrival(kind: unknown): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        const [next] = this.#waiting
        if (next?.kind === 'write' && this.#kindOf(next.write) === kind) resolve()
      }
      this.#onArrival = look
      look()
    })
  }

  /** The batch of that kind at the head; empty when something else is there. */
  #takeWrites(kind: unknown): readonly Write[] {
    const writes: Write[] = []
    let weight = 0
    for (let next = this.#waiting[0]; next?.kind === 'write'; next = this.#waiting[0]) {
      if (this.#kindOf(next.write) !== kind) break
      weight += this.#weigh(next.write)
      if (writes.length > 0 && weight > 1) break
      writes.push(next.write)
      this.#waiting.shift()
      this.#begin(next)
    }
    return writes
  }
}

/**
 * To be called when a request's turn has come.
 * @throws WarpdexError `CANCELLED` where nobody waits for an answer any more
 */
export function requireWanted(request: Cancellation | undefined): void {
  request?.turnCame?.()
  if (request?.cancelled !== true) return
  throw new WarpdexError('CANCELLED', 'the request was cancelled before it began')
}
