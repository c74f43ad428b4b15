import type { ErrorCode } from './errors.js'

/** What a request waited for, in milliseconds; together they are all of its time. */
export interface RequestTimes {
  /** From its arrival to its turn: room for it, other requests of its index, and of a statement the planning. */
  readonly waiting: number
  /** From its turn to its result: the device and, for writes, the log. */
  readonly running: number
  /** From its result to its reply. */
  readonly replying: number
}

/** A request that took longer than a server's threshold. Names are in it; keys, values and constants are not. */
export interface SlowRequest {
  /** They count from 1 at the server's start. */
  readonly number: number
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  readonly op: string
  /** Of the indexes and relations that it named, some of many. A statement names its relations itself. */
  readonly names: readonly string[]
  /** A statement in SQL, with `?` for its constants. */
  readonly statement?: string | undefined
  readonly outcome: 'OK' | ErrorCode
  readonly milliseconds: number
  /** Absent where it failed, or had no turn. */
  readonly times?: RequestTimes | undefined
  /** Keys, items or ranges. */
  readonly keys: number
  /** Rows and entries that were returned, or stored in relations. */
  readonly rows: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** Name of its client's token; absent where the server has none. */
  readonly token?: string | undefined
  /** Of its client; absent for a Unix socket. */
  readonly address?: string | undefined
}
