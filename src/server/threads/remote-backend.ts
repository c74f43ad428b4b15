import { crc32 } from 'node:zlib'
import type { WireColumn } from '../../../protocol/data-request.js'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { IdMap } from '../../../protocol/id-map.js'
import type { Request } from '../../../protocol/messages.js'
import type { Answer } from '../../http/answer.js'
import type { Admission, Backend, Call, Introduction, Reply, Visit } from '../backend.js'
import { BusyPolling } from './busy-polling.js'
import { GetGroups } from './get-groups.js'
import { type Mailbox, ownMemory } from './mailbox.js'
import type { ToEngine, ToListener } from './messages.js'

/** Columns of which a checksum is worth its way to the engine's thread. */
const CHECKED_BYTES = 64 * 1024

/** What waits for the engine's thread. */
interface Waiting {
  readonly resolve: (outcome: never) => void
  readonly reject: (error: WarpdexError) => void
}

/** What the engine's thread says of something that was asked. */
type Settlement = Extract<ToListener, { readonly number: number }>

/** The backend as another thread sees it. */
export class RemoteBackend implements Backend {
  introduction: Introduction = { adapter: { name: '', software: true } }
  readonly #outbox: Mailbox<ToEngine>
  readonly #waiting = new IdMap<Waiting>()
  readonly #polling = new BusyPolling()
  readonly #gets = new GetGroups((call) => this.#send(call))
  /** Who is at each connection. */
  readonly #who = new Map<number, string>()
  #next = 0

  constructor(outbox: Mailbox<ToEngine>) {
    this.#outbox = outbox
  }

  async admit(visit: Visit): Promise<Admission> {
    const admission = await this.#ask<Admission>((number) => ({ kind: 'admit', number, visit }))
    if (admission.connection !== undefined) {
      this.introduction = admission.introduction
      this.#who.set(admission.connection, admission.who)
    }
    return admission
  }

  left(connection: number): void {
    this.#who.delete(connection)
    this.#outbox.send({ kind: 'left', connection })
  }

  visit(visit: Visit): Promise<Answer> {
    return this.#ask((number) => ({ kind: 'visit', number, visit }))
  }

  call(call: Call): Promise<Reply> {
    this.#polling.arrived(this.introduction.adapter)
    return this.#gets.offer(call, this.#who.get(call.owner) ?? '') ?? this.#send(call)
  }

  #send(call: Call): Promise<Reply> {
    const { request, frame, owner: connection, client } = call
    const own = ownMemory(frame)
    const checksums = checksumsOf(request)
    return this.#ask((number) => {
      call.onCancel = () => this.#outbox.send({ kind: 'cancel', number })
      return { kind: 'call', number, connection, client, frame: own, checksums }
    }, own.buffer)
  }

  /** Takes what the engine's thread says. */
  settle(message: Settlement): void {
    const { number } = message
    const waiting = this.#waiting.delete(number)
    if (waiting === undefined) return
    const resolve = waiting.resolve as (outcome: unknown) => void
    if (message.kind === 'answer') resolve(message.answer)
    else if (message.kind === 'refusal') {
      const { code, message: reason, item, owner } = message
      waiting.reject(new WarpdexError(code, reason, { item, owner }))
    } else {
      const { result, lent, running } = message
      this.#polling.answered()
      const release = () => this.#outbox.send({ kind: 'release', number })
      resolve({ result, memory: lent ? { release } : undefined, running } satisfies Reply)
    }
  }

  /** A message could not be sent, which is its own misfortune only. */
  unsent(message: ToEngine, thrown: unknown): void {
    if (!('number' in message)) throw thrown
    this.#waiting.delete(message.number)?.reject(toWarpdexError(thrown))
  }

  #ask<T>(messageOf: (number: number) => ToEngine, memory?: ArrayBufferLike): Promise<T> {
    const number = this.#next++
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject })
      this.#outbox.send(messageOf(number), memory instanceof ArrayBuffer ? memory : undefined)
    })
  }
}

/** Of the columns of a write, which are logged with it: this thread has more time than the engine's. */
function checksumsOf(
  request: Request,
): { keys?: number | undefined; payloads?: number | undefined } | undefined {
  if (!('handle' in request)) return undefined
  const { keys, payloads } = request.columns
  if (payloads === undefined && request.op !== 'delete') return undefined
  return { keys: checksumOf(keys), payloads: checksumOf(payloads) }
}

function checksumOf(column: WireColumn | undefined): number | undefined {
  return column !== undefined && column.bytes.byteLength >= CHECKED_BYTES ? crc32(column.bytes) : undefined
}
