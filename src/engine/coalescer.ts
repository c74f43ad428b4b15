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
class Coalescer<Asked, Answer> {
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

/** A coalescer for each kind of calls: only those of one kind go together. */
export class CoalescerByKind<Asked, Answer> {
  readonly #options: CoalescerOptions<Asked, Answer>
  readonly #kinds = new Map<string, Coalescer<Asked, Answer>>()

  constructor(options: CoalescerOptions<Asked, Answer>) {
    this.#options = options
  }

  call(kind: string, asked: Asked): Promise<Answer> {
    let alike = this.#kinds.get(kind)
    if (alike === undefined) {
      for (const [known, { isIdle }] of this.#kinds) if (isIdle) this.#kinds.delete(known)
      alike = new Coalescer(this.#options)
      this.#kinds.set(kind, alike)
    }
    return alike.call(asked)
  }

  /** Lets all that waits go, so that what comes after it takes effect after it. */
  flush(): void {
    for (const alike of this.#kinds.values()) alike.flush()
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
