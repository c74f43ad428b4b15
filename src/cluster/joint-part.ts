import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { JointSteps } from '../engine/atomic-batch.js'
import type { JetStreamLog } from './jetstream-log.js'

/** How far a node is with its part of a batch. */
export type Progress =
  | { readonly stage: 'here' }
  /** Nothing but the log can keep the part from being made. */
  | { readonly stage: 'ready' }
  /** JetStream has its messages and those of the parts before, `count` in all, and does nothing with them yet. */
  | { readonly stage: 'staged'; readonly batch: string; readonly count: number }
  /** All parts are in their logs; `sequence` is that of the last of `count` messages. */
  | { readonly stage: 'committed'; readonly count: number; readonly sequence: number }
  | { readonly stage: 'failed'; readonly isPassing: boolean; readonly reason: string }

/** What nodes tell each other of a batch. */
export interface Word {
  /** Which of the parts is the sender's, in the order of the replica sets. */
  readonly rank: number
  /** Of the sender: another one each time that it takes part. */
  readonly attempt: string
  readonly progress: Progress
  /** Whether it has just come, and knows nothing of the others. */
  readonly asks: boolean
}

interface JointPartOptions {
  readonly rank: number
  /** How many parts the batch has. */
  readonly parts: number
  readonly log: Pick<JetStreamLog, 'addTo'>
  /** Tells it the node with another part, or all of them. */
  readonly tell: (word: Word, rank?: number) => void
}

/** In their order. */
const STAGES: readonly Progress['stage'][] = ['here', 'ready', 'staged', 'committed']
/** How long the others are waited for: their replica sets may have no owner for the moment. */
const GATHER_MS = 30_000
/** How long they may take until they are ready, while what this part writes to stands still. */
const READY_MS = 10_000
/** How long they may take from then on, while the log of the replica set stands still. */
const COMMIT_MS = 5000
/** After these another node, or this one, makes the part when it is asked for again. */
const PASSING: readonly string[] = ['NOT_OWNER', 'SHUTTING_DOWN']

/**
 * A node's part of a batch that several replica sets make, all of them or none. The nodes tell each other how far they are, and go
 * on in the order of their replica sets, so that two batches never wait for each other crosswise: when all are there, each takes the turns of
 * what it writes to and looks whether anything keeps it from it; when none is kept, each has JetStream take its entry, at its place in
 * its log, as a part of one atomic batch, which the last one commits.
 *
 * What the nodes tell each other keeps the batch going. That all parts are made or none is JetStream's: each entry names the one that it
 * follows, and where one of these is not the last in its log, no entry of the batch is appended. A node that does not hear what became
 * of its entry gives up its replica set as a node does whose append fails: its next entry, or that of a new owner, comes after the batch, or
 * in its place.
 */
export class JointPart implements JointSteps {
  readonly #options: JointPartOptions
  readonly #attempt = crypto.randomUUID()
  /** What the others have told last, by rank. */
  readonly #others = new Map<number, Word>()
  #progress: Progress = { stage: 'here' }
  /** Whether its turns come, or have come. */
  #hasBegun = false
  #failure: WarpdexError | undefined
  /** Called when there may be what is waited for. */
  #look: () => void = () => {}

  constructor(options: JointPartOptions) {
    this.#options = options
  }

  /** Takes up what another node tells. */
  hear(word: Word): void {
    const { rank, attempt, progress, asks } = word
    const isAnew = (this.#others.get(rank)?.attempt ?? attempt) !== attempt
    this.#others.set(rank, word)
    if (asks && this.#failure === undefined) this.#tell(false, rank)
    if (progress.stage === 'failed') this.#failure ??= refusal(progress)
    else if (isAnew && this.#hasBegun) this.#failure ??= passing('another node has begun the batch anew')
    this.#look()
  }

  async begin(): Promise<void> {
    const { rank, parts } = this.#options
    this.#tell(true)
    const late = `not all replica sets have got their parts of the batch within ${GATHER_MS / 1000} s`
    const isWhole = () => this.#others.size === parts - 1 || undefined
    await this.#until(isWhole, GATHER_MS, new WarpdexError('CANCELLED', late))
    if (rank > 0) await this.#reached(rank - 1, 'ready', GATHER_MS)
    this.#hasBegun = true
  }

  async ready(): Promise<void> {
    const { rank, parts } = this.#options
    this.#go({ stage: 'ready' })
    await (rank > 0
      ? this.#reached(rank - 1, 'staged', READY_MS)
      : this.#reached(parts - 1, 'ready', READY_MS))
  }

  readonly append: JointSteps['append'] = async (entry, expected) => {
    const { rank, parts, log } = this.#options
    const before = this.#others.get(rank - 1)?.progress
    const { batch, count } = before?.stage === 'staged' ? before : { batch: this.#attempt, count: 0 }
    const isLast = rank === parts - 1
    try {
      if (this.#failure !== undefined) throw this.#failure
      const own = await log.addTo({ id: batch, before: count, isLast }, entry, expected)
      this.#go(isLast ? { stage: 'committed', ...own } : { stage: 'staged', batch, count: own.count })
      const all = isLast ? own : await this.#committed()
      return all.sequence - (all.count - own.count)
    } catch (thrown) {
      throw passing(`what became of the batch is not known here: ${toWarpdexError(thrown).message}`)
    }
  }

  /** The part could not be made. */
  failed(error: WarpdexError): void {
    // Where another one has failed, all know it from there.
    if (this.#failure !== undefined || this.#progress.stage === 'committed') return
    this.#failure = error
    const { code, message: reason } = error
    this.#go({ stage: 'failed', isPassing: PASSING.includes(code), reason })
    this.#look()
  }

  /** Does not begin, unless it has: then it is made all the same. */
  abandon(reason: WarpdexError): void {
    if (!this.#hasBegun) this.failed(reason)
  }

  async #committed() {
    const last = this.#options.parts - 1
    const committed = await this.#until(() => {
      const { progress } = this.#others.get(last) ?? {}
      return progress?.stage === 'committed' ? progress : undefined
    }, COMMIT_MS)
    this.#progress = committed
    return committed
  }

  async #reached(rank: number, stage: Progress['stage'], milliseconds: number): Promise<void> {
    await this.#until(() => {
      const { progress } = this.#others.get(rank) ?? {}
      return (progress !== undefined && STAGES.indexOf(progress.stage) >= STAGES.indexOf(stage)) || undefined
    }, milliseconds)
  }

  /** Resolves when there is what is looked for. @param late what it fails with after some time */
  #until<T>(look: () => T | undefined, milliseconds: number, late = passing(LATE)): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        this.#look = () => {}
      }
      const timer = setTimeout(() => {
        end()
        reject(late)
      }, milliseconds)
      this.#look = () => {
        const found = look()
        if (found === undefined && this.#failure === undefined) return
        end()
        if (found === undefined) reject(this.#failure)
        else resolve(found)
      }
      this.#look()
    })
  }

  #go(progress: Progress): void {
    this.#progress = progress
    this.#tell(false)
  }

  #tell(asks: boolean, rank?: number): void {
    const word = { rank: this.#options.rank, attempt: this.#attempt, progress: this.#progress, asks }
    this.#options.tell(word, rank)
  }
}

const LATE = 'the node of another replica set did not answer in time'

/** The batch may be asked for again as it is. */
function passing(reason: string): WarpdexError {
  return new WarpdexError('NOT_OWNER', reason)
}

function refusal({ isPassing, reason }: Progress & { readonly stage: 'failed' }): WarpdexError {
  const message = `another replica set makes no part of the batch: ${reason}`
  return isPassing ? passing(message) : new WarpdexError('CANCELLED', message)
}
