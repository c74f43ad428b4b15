import type { Asker } from './answered-request.js'

/** An open connection. */
export interface ClientFacts extends Asker {
  readonly connection: number
  /** When it was opened, in milliseconds since 1970. */
  readonly since: number
  /** Requests that were answered, and bytes of them and of their replies. */
  readonly requests: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** Requests that are not answered yet, and bytes of replies that were not read. */
  readonly requestsInFlight: number
  readonly unreadBytes: number
}
