import type { WarpdexError } from '../../protocol/errors.js'
import { IdMap } from '../../protocol/id-map.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Link } from './link.js'
import type { Reply } from './reply.js'

/** A request on its way to an answer. */
interface Call {
  readonly id: number
  readonly frame: Uint8Array<ArrayBuffer>
  /** How often it may still be sent. */
  sends: number
  readonly resolve: (reply: Reply) => void
  readonly reject: (reason: WarpdexError) => void
}

/** The unanswered calls of a client in their order: those that are sent, up to the server's bounds, and those that wait. */
export class CallTable {
  /** Over which calls are sent, while there is a connection. */
  link: Link | undefined
  #sent = new IdMap<Call>()
  #waiting = new Map<number, Call>()
  #sentBytes = 0

  get isEmpty(): boolean {
    return this.#sent.size === 0 && this.#waiting.size === 0
  }

  /** Sends a call or, where others wait before it or the server has enough to do, has it wait. */
  add(call: Call): void {
    if (this.#waiting.size > 0 || !this.#send(call)) this.#waiting.set(call.id, call)
  }

  /** Sends calls that wait, as far as the server has room for them. */
  sendWaiting(): void {
    if (this.#waiting.size === 0) return
    for (const call of this.#waiting.values()) {
      if (!this.#send(call)) return
      this.#waiting.delete(call.id)
    }
  }

  /** @returns false where it has to wait */
  #send(call: Call): boolean {
    const bytes = this.#sentBytes + call.frame.length
    const { size } = this.#sent
    const hasRoom = size < LIMITS.requestsInFlight && (size === 0 || bytes <= LIMITS.bytesInFlight)
    if (this.link === undefined || !hasRoom) return false
    this.#sent.set(call.id, call)
    this.#sentBytes = bytes
    call.sends--
    this.link.send(call.frame)
    return true
  }

  /** Takes a call out that was sent. */
  takeSent(id: number): Call | undefined {
    const call = this.#sent.delete(id)
    if (call !== undefined) this.#sentBytes -= call.frame.length
    return call
  }

  /** Forgets a call that was not sent. */
  dropWaiting(id: number): void {
    this.#waiting.delete(id)
  }

  /** After the loss of the connection: calls that were sent wait again before all others, or fail if they may not. */
  connectionLost(reason: WarpdexError): void {
    const sent = this.#sent.entries()
    this.#waiting = new Map([...sent.filter(([, { sends }]) => sends > 0), ...this.#waiting])
    this.#forgetSent()
    for (const [, call] of sent) if (call.sends === 0) call.reject(reason)
  }

  /** Makes all calls fail. */
  rejectAll(reason: WarpdexError): void {
    const calls = [...this.#sent.values(), ...this.#waiting.values()]
    this.#waiting.clear()
    this.#forgetSent()
    for (const call of calls) call.reject(reason)
  }

  #forgetSent(): void {
    this.link = undefined
    this.#sent = new IdMap()
    this.#sentBytes = 0
  }
}
