import type { WarpdexError } from '../../protocol/errors.js'
import { IdMap } from '../../protocol/id-map.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Reply } from './reply.js'

/** A request on its way to an answer. */
export interface Call {
  readonly id: number
  readonly frame: Uint8Array<ArrayBuffer>
  /** Whether it waits for changes: the server does not count these among the requests that it takes at a time. */
  readonly isWait: boolean
  /** How often it may still be sent. */
  sends: number
  readonly resolve: (reply: Reply) => void
  readonly reject: (reason: WarpdexError) => void
}

/** Calls that are sent and not answered, up to the server's bounds. */
export class SentCalls {
  readonly #calls = new IdMap<Call>()
  #bytes = 0
  #waits = 0

  get size(): number {
    return this.#calls.size
  }

  /** Whether the server has answered all but those that wait for changes. */
  get isIdle(): boolean {
    return this.#calls.size === this.#waits
  }

  /** Whether the server would read on with this one, too. */
  hasRoomFor({ isWait, frame }: Call): boolean {
    const others = this.#calls.size - this.#waits
    if (isWait || others === 0) return true
    return others < LIMITS.requestsInFlight && this.#bytes + frame.length <= LIMITS.bytesInFlight
  }

  add(call: Call): void {
    this.#calls.set(call.id, call)
    this.#count(call, 1)
  }

  /** Takes a call out, so that others can be sent. */
  take(id: number): Call | undefined {
    const call = this.#calls.delete(id)
    if (call !== undefined) this.#count(call, -1)
    return call
  }

  takeAll(): Call[] {
    this.#bytes = 0
    this.#waits = 0
    return this.#calls.takeAll()
  }

  #count({ frame, isWait }: Call, times: 1 | -1): void {
    this.#bytes += times * frame.length
    if (isWait) this.#waits += times
  }
}
