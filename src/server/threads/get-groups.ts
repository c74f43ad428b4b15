import { WarpdexError } from '../../../protocol/errors.js'
import { type SectionType, sectionElementBytes } from '../../../protocol/frame.js'
import type { GetRequest } from '../../../protocol/messages.js'
import type { Answered, Question } from '../gate/engine-gate.js'
import type { EngineRequest } from '../operations.js'
import { type AnsweredGet, splitAnswer } from './split-answer.js'

/** Gets of more keys than this go by themselves: their own way to the engine costs little beside what they take there. */
const SMALL_KEYS = 16_384

/** Keys of one group, after which no more join. */
const GROUP_KEYS = 131_072

/** Groups of one index that may be unanswered: one computes while the other's answer is on its way. */
const GROUPS_UNDER_WAY = 2

/** A get that waits for others to share its way to the engine. */
interface Member {
  readonly question: Question
  readonly request: GetRequest
  readonly count: number
  readonly resolve: (answer: Answered) => void
  readonly reject: (error: unknown) => void
}

/** Gets of one index whose keys are of one type, and that mean the same generation of it. */
interface Group {
  readonly index: string
  readonly generation: number | undefined
  readonly type: SectionType
  readonly waiting: Member[]
  underWay: number
}

/**
 * Asks for a whole group as if it were one request.
 * @param connection whose request it is, if all are of one; so that who asks for much takes turns with others
 */
type Ask = (request: EngineRequest, connection: number | undefined) => Promise<Answered>

/**
 * Makes one get of many small ones on their way to the engine's thread, which then has as little to do with each as with a key.
 * A lone one goes at once; those that come while two are under way go together next.
 */
export class GetGroups {
  readonly #ask: Ask
  readonly #groups = new Map<string, Group>()
  /** That of the last get, since most are of the same index as the one before. */
  #last: Group | undefined

  constructor(ask: Ask) {
    this.#ask = ask
  }

  /** The answer, or undefined for what is no small get of keys of fixed width. */
  offer(question: Question): Promise<Answered> | undefined {
    const { request } = question
    if (!isPlainGet(request)) return undefined
    const count = request.keys.bytes.byteLength / sectionElementBytes(request.keys.type)
    if (count > SMALL_KEYS) return undefined
    return new Promise((resolve, reject) => {
      const group = this.#group(request)
      group.waiting.push({ question, request, count, resolve, reject })
      if (group.waiting.length === 1) queueMicrotask(() => this.#advance(group))
    })
  }

  /** Sends what waits, so that a write of that index comes after it; without one, what waits of all. */
  flush(index?: string): void {
    for (const group of this.#groups.values()) {
      if (index === undefined || group.index === index) while (group.waiting.length > 0) this.#send(group)
    }
  }

  #group({ index, generation, keys }: GetRequest): Group {
    const { type } = keys
    const last = this.#last
    if (last?.index === index && last.generation === generation && last.type === type) return last
    const name = nameOf({ index, generation, type })
    const group = this.#groups.get(name) ?? { index, generation, type, waiting: [], underWay: 0 }
    this.#groups.set(name, group)
    this.#last = group
    return group
  }

  #advance(group: Group): void {
    while (group.waiting.length > 0 && group.underWay < GROUPS_UNDER_WAY) this.#send(group)
    if (group.waiting.length > 0 || group.underWay > 0) return
    this.#groups.delete(nameOf(group))
    if (this.#last === group) this.#last = undefined
  }

  #send(group: Group): void {
    const members = takeMembers(group.waiting)
    group.underWay++
    void this.#answer(members).then(() => {
      group.underWay--
      this.#advance(group)
    })
  }

  async #answer(members: readonly Member[]): Promise<void> {
    try {
      const answer = await this.#ask(joined(members), connectionOf(members))
      const counts = members.map(({ count }) => count)
      const parts = splitAnswer(answer as AnsweredGet, counts)
      for (const [i, { resolve }] of members.entries()) resolve(parts[i]!)
    } catch (error) {
      // Together their payloads may be more than one reply holds.
      const alone = error instanceof WarpdexError && error.code === 'TOO_LARGE' && members.length > 1
      if (alone) await Promise.all(members.map((member) => this.#answer([member])))
      else for (const { reject } of members) reject(error)
    }
  }
}

function nameOf({ index, generation, type }: Pick<Group, 'index' | 'generation' | 'type'>): string {
  return `${type} ${generation} ${index}`
}

function isPlainGet(request: EngineRequest): request is GetRequest {
  if (request.op !== 'get' || request.all || request.traversal !== undefined) return false
  return request.keyOffsets === undefined && request.keys.type !== 'bytes' && request.keys.type !== 'u8'
}

/** Those that go together; whoever does not wait any more is told so. */
function takeMembers(waiting: Member[]): readonly Member[] {
  let keys = 0
  let taken = 0
  while (taken < waiting.length && keys < GROUP_KEYS) keys += waiting[taken++]!.count
  const members = waiting.splice(0, taken)
  const cancelled = members.filter(({ question }) => question.sign.cancelled)
  for (const { reject } of cancelled) {
    reject(new WarpdexError('CANCELLED', 'the request was cancelled before it began'))
  }
  return cancelled.length === 0 ? members : members.filter((member) => !cancelled.includes(member))
}

function connectionOf(members: readonly Member[]): number | undefined {
  const connection = members[0]?.question.connection
  return members.every(({ question }) => question.connection === connection) ? connection : undefined
}

function joined(members: readonly Member[]): GetRequest {
  const [{ request }] = members as readonly [Member, ...Member[]]
  const { type } = request.keys
  const length = members.reduce((sum, member) => sum + member.request.keys.bytes.byteLength, 0)
  const bytes = new Uint8Array(length)
  let at = 0
  for (const { request } of members) {
    bytes.set(request.keys.bytes, at)
    at += request.keys.bytes.byteLength
  }
  return { ...request, keys: { type, bytes } }
}
