import { DeviceFull } from '../../gpu/device/device-full.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'

/** Something that owns device memory and can leave it for the host, and come back. */
export interface Pageable {
  /** Bytes of device memory that it owns or, while it is away, will need. */
  readonly deviceBytes: number
  /** Bytes of these that a use may add without `settle`. Asked after each use, so that it must take no time. */
  readonly derivedBytes: number
  /** Gives its device memory back. If that fails it has all that it had. */
  pageOut(): Promise<void>
  /** Takes device memory again. If that fails it is as it was. */
  pageIn(): Promise<void>
}

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface Member {
  readonly pageable: Pageable
  /** `draining` ones leave as soon as nobody uses them any more. */
  state: 'here' | 'draining' | 'leaving' | 'away' | 'coming'
  /** Bytes that count: what it owns, and what it was promised while it is coming. */
  bytes: number
  /** Those of them that are derived. */
  derivedBytes: number
  uses: number
  /** Who wants to use it once it is here. */
  waiting: Waiting[]
  /** Settles, without an error, when it has come or gone. */
  transfer: Promise<void>
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
  readonly #members = new Map<Pageable, Member>()
  /** Members that have device memory, the least recently used first. */
  readonly #recent = new Set<Member>()
  /** The last of them, where that is known. */
  #latest: Member | undefined
  /** Members that are asked for and have no room yet. */
  readonly #queue: Member[] = []
  /** Members of whoever is gathering several. */
  readonly #kept = new Set<Member>()
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
  add(pageable: Pageable): void {
    const transfer = Promise.resolve()
    const member: Member = {
      pageable,
      state: 'here',
      bytes: 0,
      derivedBytes: 0,
      uses: 0,
      waiting: [],
      transfer,
    }
    this.#members.set(pageable, member)
    this.#measure(member)
    this.#advance()
  }

  /** Forgets a member that nobody uses or waits for, once it has come or gone if it is about to. */
  async remove(pageable: Pageable): Promise<void> {
    const member = this.#member(pageable)
    while (member.state === 'leaving' || member.state === 'coming') await member.transfer
    this.#members.delete(pageable)
    this.#recent.delete(member)
    this.#bytes -= member.bytes
    this.#advance()
  }

  /** Whether a member is here and gets new users, so that nobody who acquires it now would wait. */
  isHere(pageable: Pageable): boolean {
    return this.#member(pageable).state === 'here'
  }

  /**
   * Begins a use; `release` ends it.
   * @returns what to wait for until the member is here; undefined if it is. If that rejects there is nothing to release
   */
  acquire(pageable: Pageable): Promise<void> | undefined {
    const member = this.#member(pageable)
    if (member.state === 'here') {
      this.#use(member, 1)
      return undefined
    }
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
  async acquireAll(pageables: readonly Pageable[]): Promise<void> {
    if (pageables.length === 1) return this.acquire(pageables[0])
    const gathered = this.#gathering.then(() => this.#gather(pageables))
    this.#gathering = gathered.catch(() => {})
    return gathered
  }

  async #gather(pageables: readonly Pageable[]): Promise<void> {
    const held: Pageable[] = []
    try {
      for (const pageable of pageables) {
        this.#kept.add(this.#member(pageable))
        await this.acquire(pageable)
        held.push(pageable)
      }
    } catch (error) {
      for (const pageable of held) this.release(pageable)
      throw error
    } finally {
      this.#kept.clear()
      this.#advance()
    }
  }

  /** Ends a use. Others make way for what it has derived, but nobody waits for them. */
  release(pageable: Pageable): void {
    const member = this.#member(pageable)
    if (pageable.derivedBytes !== member.derivedBytes) this.#measure(member)
    member.uses--
    if (member.uses === 0 && member.state === 'draining') this.#send(member)
    // Else nobody waits, and nobody has to go.
    if (this.#queue.length > 0 || this.#bytes > this.limit) this.#advance()
  }

  /** Takes note of what a member has come to own during its use, and waits until idle ones have made way for it. */
  async settle(pageable: Pageable): Promise<void> {
    this.#measure(this.#member(pageable))
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
      const missing = this.#bytes + (head?.pageable.deviceBytes ?? 0) - this.limit
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
    for (const { bytes } of this.#kept) kept += bytes
    return this.#bytes > kept
  }

  /**
   * Sends members away until that many bytes are on their way: idle ones at once, others when they are not used any more.
   * @param spared stays in any case
   */
  #makeWay(bytes: number, spared: Member | undefined): void {
    let missing = bytes
    if (missing <= 0) return
    for (const { state, bytes } of this.#recent) if (isGoing(state)) missing -= bytes
    for (const member of this.#recent) {
      if (missing <= 0) return
      if (!isIdle(member) || member === spared) continue
      missing -= member.bytes
      this.#send(member)
    }
    for (const member of this.#recent) {
      if (missing <= 0) return
      if (member.state !== 'here' || member === spared || this.#kept.has(member)) continue
      missing -= member.bytes
      member.state = 'draining'
    }
  }

  #send(member: Member): void {
    member.state = 'leaving'
    member.transfer = member.pageable.pageOut().then(
      () => {
        member.state = 'away'
        this.#recent.delete(member)
        this.#bytes -= member.bytes
        member.bytes = 0
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
  #letGo(member: Member): void {
    const place = this.#queue.indexOf(member)
    if (place >= 0) this.#queue.splice(place, 1)
    this.#arrive(member)
  }

  #bring(member: Member): void {
    member.state = 'coming'
    member.bytes = member.pageable.deviceBytes
    this.#bytes += member.bytes
    member.transfer = this.withRoom(() => member.pageable.pageIn()).then(
      () => {
        member.state = 'here'
        this.#measure(member)
        this.#arrive(member)
        this.#advance()
      },
      (error: unknown) => {
        member.state = 'away'
        this.#bytes -= member.bytes
        member.bytes = 0
        this.#refuse(member, error)
        this.#advance()
      },
    )
  }

  #arrive(member: Member): void {
    const { waiting } = member
    member.waiting = []
    this.#use(member, waiting.length)
    for (const { resolve } of waiting) resolve()
  }

  #refuse(member: Member, error: unknown): void {
    const { waiting } = member
    member.waiting = []
    for (const { reject } of waiting) reject(error)
  }

  #use(member: Member, uses: number): void {
    member.uses += uses
    // To be put where it is would make a new table of the set now and then, each of which refers to the next.
    if (this.#latest === member) return
    if (this.#recent.delete(member)) this.#setLatest(member)
  }

  #measure(member: Member): void {
    const { deviceBytes, derivedBytes } = member.pageable
    this.#bytes += deviceBytes - member.bytes
    member.bytes = deviceBytes
    member.derivedBytes = derivedBytes
    if (deviceBytes === 0) this.#recent.delete(member)
    else if (!this.#recent.has(member)) this.#setLatest(member)
  }

  #setLatest(member: Member): void {
    this.#recent.add(member)
    this.#latest = member
  }

  /** Waits for those that are leaving now; whether there were any. */
  async #departures(): Promise<boolean> {
    const leaving = [...this.#recent].filter(({ state }) => state === 'leaving')
    await Promise.all(leaving.map(({ transfer }) => transfer))
    return leaving.length > 0
  }

  #member(pageable: Pageable): Member {
    const member = this.#members.get(pageable)
    if (member === undefined) throw new WarpdexError('INTERNAL', 'the budget has no such member')
    return member
  }
}

function isIdle({ state, uses }: Member): boolean {
  return state === 'here' && uses === 0
}

function isGoing(state: Member['state']): boolean {
  return state === 'draining' || state === 'leaving'
}
