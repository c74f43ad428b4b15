/** Work of whoever has waited least so far goes first; see `FairTurns`. */
interface Owner {
  readonly waiting: Waiting[]
  /** Tasks of it that run. */
  running: number
  /** Weight that it has been given, as far as it counts. */
  served: number
}

interface Waiting {
  readonly weight: number
  readonly start: () => void
}

/** Of those who have had the same, whoever has less under way comes first. */
function precedes(a: Owner, b: Owner): boolean {
  return a.served === b.served ? a.running < b.running : a.served < b.served
}

/**
 * Lets only so much work onto the device at a time that it is always busy: what is more would wait there, in the order in which it
 * came, and whoever asks for much would hold up all others. Here the next one is of whoever has had least. The more a task is, the
 * fewer run at a time: as many as hold a given weight together, and two at least, so that one is uploaded or read back while the
 * other computes.
 */
export class FairTurns {
  readonly #mostWeight: number
  readonly #owners = new Map<unknown, Owner>()
  #running = 0
  #runningWeight = 0
  /** Tasks of all owners that wait. */
  #waiting = 0

  /** @param mostWeight weight that may run at a time */
  constructor(mostWeight: number) {
    this.#mostWeight = mostWeight
  }

  /** Runs a task in its turn: before this returns if there is room for it. */
  async run<T>(owner: unknown, weight: number, task: () => Promise<T>): Promise<T> {
    const account = this.#account(owner)
    if (this.#waiting === 0 && this.#hasRoom(weight)) this.#start(account, weight)
    else {
      this.#waiting++
      await new Promise<void>((start) => account.waiting.push({ weight, start }))
    }
    try {
      return await task()
    } finally {
      this.#running--
      this.#runningWeight -= weight
      account.running--
      if (account.running === 0 && account.waiting.length === 0) this.#owners.delete(owner)
      this.#advance()
    }
  }

  /** Whoever is new has had as much as the one who has had least, lest it be given all that the others were given before. */
  #account(owner: unknown): Owner {
    let account = this.#owners.get(owner)
    if (account === undefined) {
      const served = [...this.#owners.values()].reduce(
        (least, each) => Math.min(least, each.served),
        Infinity,
      )
      account = { waiting: [], running: 0, served: Number.isFinite(served) ? served : 0 }
      this.#owners.set(owner, account)
    }
    return account
  }

  #hasRoom(weight: number): boolean {
    return this.#running < 2 || this.#runningWeight + weight <= this.#mostWeight
  }

  #start(account: Owner, weight: number): void {
    this.#running++
    this.#runningWeight += weight
    account.running++
    account.served += weight
  }

  #advance(): void {
    while (this.#waiting > 0) {
      let next: Owner | undefined
      for (const account of this.#owners.values()) {
        if (account.waiting.length > 0 && (next === undefined || precedes(account, next))) next = account
      }
      const first = next?.waiting[0]
      if (next === undefined || first === undefined || !this.#hasRoom(first.weight)) return
      next.waiting.shift()
      this.#waiting--
      this.#start(next, first.weight)
      first.start()
    }
  }
}
