import { toWarpdexError, type WarpdexError } from '../../../protocol/errors.js'
import type { Section, Sections } from '../../../protocol/frame.js'
import { IdMap } from '../../../protocol/id-map.js'
import { Rights } from '../access/rights.js'
import { type Answered, CancelSign, type EngineGate } from '../gate/engine-gate.js'
import type { LentMemory, ReplyMemory } from '../reply-memory.js'
import type { Mailbox } from './mailbox.js'
import type { ToEngine, ToSockets } from './messages.js'

/** Columns of this size and more are put where both threads can read them. */
const SHARED_BYTES = 64 * 1024

/** A question that is not answered. */
interface Open {
  readonly sign: CancelSign
  readonly connection: number | undefined
}

/** Answers the questions of one thread for sockets, in the engine's thread. */
export class GateServer {
  readonly #gate: EngineGate
  readonly #memory: ReplyMemory
  readonly #outbox: Mailbox<ToSockets>
  readonly #rightsOf: (connection: number) => Rights
  readonly #onInternal: (error: WarpdexError) => void
  readonly #open = new IdMap<Open>()
  /** What gives the memory of replies back that have not left. */
  readonly #lent = new IdMap<() => void>()
  #ended = false

  /**
   * @param rightsOf what a connection may see
   * @param onInternal told of errors that are nobody's fault but the server's
   */
  constructor(
    gate: EngineGate,
    memory: ReplyMemory,
    outbox: Mailbox<ToSockets>,
    rightsOf: (connection: number) => Rights,
    onInternal: (error: WarpdexError) => void,
  ) {
    this.#gate = gate
    this.#memory = memory
    this.#outbox = outbox
    this.#rightsOf = rightsOf
    this.#onInternal = onInternal
  }

  /** Takes what the other thread says of questions. */
  receive(message: Extract<ToEngine, { kind: 'ask' | 'cancel' | 'left' }>): void {
    const { question } = message
    if (message.kind === 'ask') void this.#answer(message)
    else if (message.kind === 'cancel') this.#open.get(question)?.sign.cancel()
    else this.#giveBack(question)
  }

  /** A connection of the other thread is over, which may say so before it cancels what it has asked for. */
  left(connection: number): void {
    for (const open of this.#open.values()) if (open.connection === connection) open.sign.cancel()
    this.#gate.left(connection)
  }

  /** An answer could not be sent, which is its question's misfortune only. */
  unsent(message: ToSockets, thrown: unknown): void {
    if (message.kind !== 'answer') throw thrown
    this.#giveBack(message.question)
    this.#refuse(message.question, thrown)
  }

  /** Gives everything back: the other thread is gone. */
  end(): void {
    this.#ended = true
    for (const { sign } of this.#open.values()) sign.cancel()
    for (const [question] of this.#lent.entries()) this.#giveBack(question)
  }

  /** Reaches the engine's queue before it first waits, so that requests run in the order of arrival. Never fails. */
  async #answer({
    question,
    request,
    client,
    connection,
  }: Extract<ToEngine, { kind: 'ask' }>): Promise<void> {
    const sign = new CancelSign()
    // What comes from several connections at once shows nothing that some of them may not see.
    const rights = connection === undefined ? Rights.none : this.#rightsOf(connection)
    this.#open.set(question, { sign, connection })
    try {
      const answer = await this.#gate.ask({ request, client, rights, sign, connection, ownsMemory: true })
      this.#send(question, answer)
    } catch (thrown) {
      this.#refuse(question, thrown)
    } finally {
      this.#open.delete(question)
    }
  }

  #refuse(question: number, thrown: unknown): void {
    const error = toWarpdexError(thrown)
    const { code, message } = error
    if (code === 'INTERNAL') this.#onInternal(error)
    this.#outbox.send({ kind: 'refusal', question, code, message })
  }

  #send(question: number, { fields, sections, release }: Answered): void {
    const further = this.#memory.lend()
    const portable = sections && portableSections(sections, further)
    const lent = Object.values(portable ?? {}).some(({ bytes }) => isShared(bytes))
    const giveBack = () => {
      release?.()
      further.release()
    }
    if (lent && !this.#ended) this.#lent.set(question, giveBack)
    else giveBack()
    this.#outbox.send({ kind: 'answer', question, fields, sections: portable, lent })
  }

  #giveBack(question: number): void {
    this.#lent.delete(question)?.()
  }
}

function portableSections(sections: Sections, memory: LentMemory): Sections {
  return Object.fromEntries(
    Object.entries(sections).map(([name, section]) => [name, portable(section, memory)]),
  )
}

/** With a view of memory that is not shared all of that would be copied. */
function portable({ type, bytes }: Section, memory: LentMemory): Section {
  if (isShared(bytes)) return { type, bytes }
  if (bytes.byteLength < SHARED_BYTES) return { type, bytes: bytes.slice() }
  const copy = memory.allocate(bytes.byteLength)
  copy.set(bytes)
  return { type, bytes: copy }
}

function isShared({ buffer }: Uint8Array): boolean {
  return buffer instanceof SharedArrayBuffer
}
