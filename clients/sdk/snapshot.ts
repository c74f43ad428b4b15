/// <reference lib="esnext.disposable" preserve="true" />
import { badRequest } from '../../protocol/errors.js'
import { CALL_OPTIONS, type CallOptions, type Kind, type Kinds, NUMBER } from './call-options.js'
import type { Connection } from './connection.js'

/**
 * A moment of all indexes, which reads see that name it as their option `snapshot`, whatever is written later. It ends when it is closed, or when
 * it was not read for as long as it lasts; reads that name it then fail with `VERSION_GONE`.
 */
export class Snapshot {
  /** The number that requests have for it. */
  readonly version: number
  readonly #connection: Connection
  #isClosed = false

  constructor(connection: Connection, version: number) {
    this.#connection = connection
    this.version = version
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Gives up what the server keeps for it. May be called more than once. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#connection.closeVersion(this.version)
  }

  /** As `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

export interface SnapshotOptions extends CallOptions {
  /** For which it lasts after its last read; 60 by default, 3600 at most. */
  readonly seconds?: number | undefined
}

export const SNAPSHOT_OPTIONS: Kinds<SnapshotOptions> = { seconds: NUMBER, ...CALL_OPTIONS }

/** Options of a read. */
export interface ReadAtOptions extends CallOptions {
  /** The moment that it sees; its own without one. */
  readonly snapshot?: Snapshot | undefined
}

const SNAPSHOT: Kind = {
  is: (value) => value instanceof Snapshot,
  right: 'a snapshot, which client.snapshot() opens',
}

export const READ_AT_OPTIONS: Kinds<ReadAtOptions> = { snapshot: SNAPSHOT, ...CALL_OPTIONS }

/** The read version that a call names. @throws WarpdexError `BAD_REQUEST` for that of a closed snapshot */
export function versionOf({ snapshot }: ReadAtOptions): number | undefined {
  if (snapshot?.isClosed === true)
    throw badRequest('the snapshot is closed; open another by client.snapshot()')
  return snapshot?.version
}
