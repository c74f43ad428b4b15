import { DeviceFull } from '../../gpu/device/device-full.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Something that owns device memory and can leave it for the host, and come back, when its budget wants that. */
export abstract class Pageable {
  /** Bytes of device memory that it owns or, while it is away, will need. */
  abstract readonly deviceBytes: number
  /** Bytes of these that a use may add without `settle`. Asked after each use, so that it must take no time. */
  abstract readonly derivedBytes: number
  /** Gives its device memory back. If that fails it has all that it had. */
  abstract pageOut(): Promise<void>
  /** Takes device memory again. If that fails it is as it was. */
  abstract pageIn(): Promise<void>

  /** For its budget alone, as all that follows. `draining` ones leave as soon as nobody uses them any more. */
  state: 'here' | 'draining' | 'leaving' | 'away' | 'coming' | 'removed' = 'here'
  /** Bytes that count: what it owns, and what it was promised while it is coming. */
  countedBytes = 0
  /** Those of them that are derived. */
  countedDerived = 0
  uses = 0
  /** Who wants to use it once it is here. */
  waiting: Waiting[] = []
  /** Settles, without an error, when it has come or gone. */
  transfer: Promise<void> = Promise.resolve()
}

/**
 * Who may have device memory. Members that are used must be here; when they would have more than the budget together, those that
 * were least recently used are paged out. Members that are away come back in the order in which they were asked for, each when
 * there is room; if need be, members in use get no new users and leave when the last one is done. Nobody who uses a member
 * waits for room, but one who is gathering several, so that everybody who waits for room gets it.
 */
export class DeviceBudget {
  /** Bytes that all members may have together. */
  readonly limit: number
  /** Members that have device memory, the least recently used first. */
  readonly #recent = new Set<Pageable>()
  /** The last of them, where that is known. */
  #latest: Pageable | undefined
  /** Members that are asked for and have no room yet. */
  readonly #queue: Pageable[] = []
  /** Members of whoever is gathering several. */
  readonly #kept = new Set<Pageable>()
  #gathering: Promise<void> = Promise.resolve()
  #bytes = 0

  constructor(limit: number) {
    this.limit = limit
  }

  /** Bytes that the members have, with what those that are coming were promised. */
  get bytes(): number {
    return this.#bytes
  }

  /** Takes up a member that is here. */
  add(member: Pageable): void {
    this.#measure(member)
    this.#advance()
  }

  /** Forgets a member that nobody uses or waits for, once it has come or gone if it is about to. */
  async remove(member: Pageable): Promise<void> {
    while (member.state === 'leaving' || member.state === 'coming') await member.transfer
    member.state = 'removed'
    this.#recent.delete(member)
    this.#bytes -= member.countedBytes
    this.#advance()
  }

  /**
   * Begins a use; `release` ends it.
   * @returns what to wait for until the member is here; undefined if it is. If that rejects there is nothing to release
   */
  acquire(member: Pageable): Promise<void> | undefined {
    if (member.state === 'here') {
      this.#use(member, 1)
      return undefined
    }
    if (member.state === 'removed') throw new WarpdexError('INTERNAL', 'the budget has no such member')
    return new Promise((resolve, reject) => {
      const isFirst = member.waiting.length === 0
      member.waiting.push({ resolve, reject })
      if (!isFirst || member.state === 'coming') return
      this.#queue.push(member)
      this.#advance()
    })
  }

  /**
   * As `acquire`, of several members that are used together. Only one such gathers at a time, and what it has got so far does not
   * leave: whoever holds a member and waits for another would else wait for itself.
   */
  async acquireAll(members: readonly Pageable[]): Promise<void> {
    if (members.length === 1) return this.acquire(members[0])
    const gathered = this.#gathering.then(() => this.#gather(members))
    this.#gathering = gathered.catch(() => {})
    return gathered
  }

  async #gather(members: readonly Pageable[]): Promise<void> {
    const held: Pageable[] = []
    try {
      for (const member of members) {
        this.#kept.add(member)
        await this.acquire(member)
        held.push(member)
      }
    } catch (error) {
      for (const member of held) this.release(member)
      throw error
    } finally {
      this.#kept.clear()
      this.#advance()
    }
  }

  /** Ends a use. Others make way for what it has derived, but nobody waits for them. */
  release(member: Pageable): void {
    if (member.derivedBytes !== member.countedDerived) this.#measure(member)
    member.uses--
    if (member.uses === 0 && member.state === 'draining') this.#send(member)
    // Else nobody waits, and nobody has to go.
    if (this.#queue.length > 0 || this.#bytes > this.limit) this.#advance()
  }

  /** Takes note of what a member has come to own during its use, and waits until idle ones have made way for it. */
  async settle(member: Pageable): Promise<void> {
    this.#measure(member)
    this.#advance()
    while (this.#bytes > this.limit && (await this.#departures()));
  }

  /** Runs a task and, should the device have no room for it, pages out all idle members and runs it once more. */
  async withRoom<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await task()
    } catch (error) {
      if (!(error instanceof DeviceFull)) throw error
      for (const member of [...this.#recent]) if (isIdle(member)) this.#send(member)
      if (!(await this.#departures())) throw error
      return task()
    }
  }

  /** Lets those come for whom there is room, and makes room for the next. */
  #advance(): void {
    for (;;) {
      const head = this.#queue[0]
      if (head?.state === 'here') {
        this.#queue.shift()
        this.#arrive(head)
        continue
      }
      const missing = this.#bytes + (head?.deviceBytes ?? 0) - this.limit
      if (head?.state !== 'away' || (missing > 0 && this.#mayLeave())) {
        // One that is too large by what its reads have made would come back for the next read.
        this.#makeWay(missing, head === undefined ? this.#latest : undefined)
        return
      }
      this.#queue.shift()
      this.#bring(head)
    }
  }

  /** Whether somebody has memory who will make way some time. */
  #mayLeave(): boolean {
    let kept = 0
    for (const { countedBytes } of this.#kept) kept += countedBytes
    return this.#bytes > kept
  }

  /**
   * Sends members away until that many bytes are on their way: idle ones at once, others when they are not used any more.
   * @param spared stays in any case
   */
  #makeWay(bytes: number, spared: Pageable | undefined): void {
    let missing = bytes
    if (missing <= 0) return
    for (const { state, countedBytes } of this.#recent) if (isGoing(state)) missing -= countedBytes
    for (const member of this.#recent) {
      if (missing <= 0) return
      if (!isIdle(member) || member === spared) continue
      missing -= member.countedBytes
      this.#send(member)
    }
    for (const member of this.#recent) {
      if (missing <= 0) return
      if (member.state !== 'here' || member === spared || this.#kept.has(member)) continue
      missing -= member.countedBytes
      member.state = 'draining'
    }
  }

  #send(member: Pageable): void {
    member.state = 'leaving'
    member.transfer = member.pageOut().then(
      () => {
        member.state = 'away'
        this.#recent.delete(member)
        this.#bytes -= member.countedBytes
        member.countedBytes = 0
        this.#advance()
      },
      (error: unknown) => {
        member.state = 'here'
        if (toWarpdexError(error).code === 'DEVICE_LOST') {
          this.#letGo(member)
          return
        }
        // Tried again for whoever waits next; without anybody waiting, when something else happens.
        const head = this.#queue.shift()
        if (head === undefined) return
        this.#refuse(head, error)
        this.#advance()
      },
    )
  }

  /**
   * After the loss of a device everybody on it is rebuilt: removed and added again, once those who use it or wait for it are done.
   * They find out what happened themselves.
   */
  #letGo(member: Pageable): void {
    const place = this.#queue.indexOf(member)
    if (place >= 0) this.#queue.splice(place, 1)
    this.#arrive(member)
  }

  #bring(member: Pageable): void {
    member.state = 'coming'
    member.countedBytes = member.deviceBytes
    this.#bytes += member.countedBytes
    member.transfer = this.withRoom(() => member.pageIn()).then(
      () => {
        member.state = 'here'
        this.#measure(member)
        this.#arrive(member)
        this.#advance()
      },
      (error: unknown) => {
        member.state = 'away'
        this.#bytes -= member.countedBytes
        member.countedBytes = 0
        this.#refuse(member, error)
        this.#advance()
      },
    )
  }

  #arrive(member: Pageable): void {
    const { waiting } = member
    member.waiting = []
    this.#use(member, waiting.length)
    for (const { resolve } of waiting) resolve()
  }

  #refuse(member: Pageable, error: unknown): void {
    const { waiting } = member
    member.waiting = []
    for (const { reject } of waiting) reject(error)
  }

  #use(member: Pageable, uses: number): void {
    member.uses += uses
    // To be put where it is would make a new table of the set now and then, each of which refers to the next.
    if (this.#latest === member) return
    if (this.#recent.delete(member)) this.#setLatest(member)
  }

  #measure(member: Pageable): void {
    const { deviceBytes, derivedBytes } = member
    this.#bytes += deviceBytes - member.countedBytes
    member.countedBytes = deviceBytes
    member.countedDerived = derivedBytes
    if (deviceBytes === 0) this.#recent.delete(member)
    else if (!this.#recent.has(member)) this.#setLatest(member)
  }

  #setLatest(member: Pageable): void {
    this.#recent.add(member)
    this.#latest = member
  }

  /** Waits for those that are leaving now; whether there were any. */
  async #departures(): Promise<boolean> {
    const leaving = [...this.#recent].filter(({ state }) => state === 'leaving')
    await Promise.all(leaving.map(({ transfer }) => transfer))
    return leaving.length > 0
  }
}

function isIdle({ state, uses }: Pageable): boolean {
  return state === 'here' && uses === 0
}

function isGoing(state: Pageable['state']): boolean {
  return state === 'draining' || state === 'leaving'
}
