import type { JointBatch } from '../../protocol/batch.js'
import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { Watcher } from '../engine/feed-waits.js'
import type { WritePart } from '../engine/replica.js'
import type { JetStreamLog } from './jetstream-log.js'
import { JointPart, type Word } from './joint-part.js'
import type { NatsReplicaSet } from './nats.js'

interface Message extends Word {
  /** Which batch it is about. */
  readonly id: string
}

/** The parts that a node makes of batches over several replica sets, and what it and the nodes with the others tell each other by NATS. */
export class JointBatches {
  readonly #nats: NatsReplicaSet
  readonly #set: number
  readonly #log: JetStreamLog
  readonly #isOwner: () => boolean
  /** Those under way, by the ids of their batches, and the end of each. */
  readonly #parts = new Map<string, { readonly part: JointPart; readonly end: Promise<void> }>()

  /**
   * @param set number of the node's replica set
   * @param isOwner whether the node owns it at the moment
   */
  constructor(nats: NatsReplicaSet, set: number, log: JetStreamLog, isOwner: () => boolean) {
    this.#nats = nats
    this.#set = set
    this.#log = log
    this.#isOwner = isOwner
    nats.connection.subscribe(nats.subjectTo(set), {
      callback: (error, message) => {
        if (error === null) this.#hear(message.json())
      },
    })
  }

  /**
   * Makes a part of a batch together with the others.
   * @throws WarpdexError what keeps it from being made; `CANCELLED` where that is another part, `NOT_OWNER` where it may be tried again as it is
   */
  async make<T>({ id, sets }: JointBatch, watcher: Watcher, write: WritePart<T>): Promise<T> {
    const rank = sets.indexOf(this.#set)
    if (rank < 0)
      throw badRequest(`this node is of replica set ${this.#set}, the batch of ${sets.join(', ')}`)
    // It may be sent again before this node is done with it.
    for (let under = this.#parts.get(id); under !== undefined; under = this.#parts.get(id)) await under.end
    const tell = (word: Word, to?: number) => this.#tell({ id, ...word }, sets, to)
    const part = new JointPart({ rank, parts: sets.length, log: this.#log, tell })
    watcher.onCancel = () => {
      if (this.#isOwner()) part.abandon(new WarpdexError('NOT_OWNER', 'nobody waits for the batch any more'))
      // Its turns are for what the next owner writes.
      else part.failed(new WarpdexError('NOT_OWNER', 'the node owns its replica set no more'))
    }
    const made = write(part).catch((thrown: unknown) => {
      part.failed(toWarpdexError(thrown))
      throw thrown
    })
    const forget = () => void this.#parts.delete(id)
    this.#parts.set(id, { part, end: made.then(forget, forget) })
    return made
  }

  /** Begins none of those that wait for others. */
  close(): void {
    const reason = new WarpdexError('SHUTTING_DOWN', 'the server is shutting down')
    for (const { part } of this.#parts.values()) part.abandon(reason)
  }

  #hear({ id, ...word }: Message): void {
    this.#parts.get(id)?.part.hear(word)
  }

  #tell(message: Message, sets: readonly number[], to: number | undefined): void {
    const { connection, subjectTo } = this.#nats
    const told = sets.filter((_, rank) => rank !== message.rank && (to === undefined || rank === to))
    // The others hear nothing from a node that has left.
    if (connection.isClosed()) return
    for (const set of told) connection.publish(subjectTo(set), JSON.stringify(message))
  }
}
