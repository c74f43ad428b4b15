import type { WarpdexError } from '../../protocol/errors.js'
import { IdMap } from '../../protocol/id-map.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Reply } from './reply.js'

/** A request on its way to an answer. */
export interface Call {
  readonly id: number
  readonly frame: Uint8Array<ArrayBuffer>
  /** How often it may still be sent. */
  sends: number
  readonly resolve: (reply: Reply) => void
  readonly reject: (reason: WarpdexError) => void
}

/** The unanswered calls of a client in their order: those that are sent, up to the server's bounds, and those that wait. */
export class CallTable {
  #sent = new IdMap<Call>()
  #waiting = new Map<number, Call>()
  #sentBytes = 0

  get isEmpty(): boolean {
    return this.#sent.size === 0 && this.#waiting.size === 0
  }

  add(call: Call): void {
    this.#waiting.set(call.id, call)
  }

  /** Adds a call that is sent at once. @returns false where others wait before it, or the server has enough to do */
  addSent(call: Call): boolean {
    if (this.#waiting.size > 0 || !this.#hasRoom(call)) return false
    this.#markSent(call)
    return true
  }

  /** The next call to send, marked as sent; undefined when there is none or the server has enough to do. */
  next(): Call | undefined {
    if (this.#waiting.size === 0) return undefined
    const [call] = this.#waiting.values()
    if (call === undefined || !this.#hasRoom(call)) return undefined
    this.#waiting.delete(call.id)
    this.#markSent(call)
    return call
  }

  #hasRoom({ frame }: Call): boolean {
    if (this.#sent.size >= LIMITS.requestsInFlight) return false
    return this.#sent.size === 0 || this.#sentBytes + frame.length <= LIMITS.bytesInFlight
  }

  #markSent(call: Call): void {
    this.#sent.set(call.id, call)
    this.#sentBytes += call.frame.length
    call.sends--
  }

  /** Takes a call out that was sent. */
  takeSent(id: number): Call | undefined {
    const call = this.#sent.delete(id)
    if (call === undefined) return undefined
    this.#sentBytes -= call.frame.length
    return call
  }

  /** Takes a call out that was not sent. */
  takeWaiting(id: number): Call | undefined {
    const call = this.#waiting.get(id)
    this.#waiting.delete(id)
    return call
  }

  /** After the loss of the connection: calls that were sent wait again before all others, or fail if they may not. */
  connectionLost(reason: WarpdexError): void {
    const sent = this.#sent
    const waiting = this.#waiting
    this.#sent = new IdMap()
    this.#sentBytes = 0
    this.#waiting = new Map([...sent.entries().filter(([, { sends }]) => sends > 0), ...waiting])
    for (const call of sent.values()) if (call.sends === 0) call.reject(reason)
  }

  /** Makes all calls fail. */
  rejectAll(reason: WarpdexError): void {
    const calls = [...this.#sent.values(), ...this.#waiting.values()]
    this.#sent.clear()
    this.#waiting.clear()
    this.#sentBytes = 0
    for (const call of calls) call.reject(reason)
  }
}
