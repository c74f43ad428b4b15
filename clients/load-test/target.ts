import type { KeyType } from '../../protocol/types.js'
import type { Keys } from '../sdk/index.js'

/** A column of keys: the client's view of it, and its 32-bit words. */
export interface KeyColumn {
  readonly count: number
  readonly words: Uint32Array
  /** 32-bit words of a key. */
  readonly width: number
  readonly keys: Keys<KeyType>
}

/** Payloads to store, one a key. */
export interface PayloadRows {
  readonly bytes: Uint8Array
  /** Bytes of each. */
  readonly width: number
}

/** A batch of answers: the payload of key i, or undefined where it has none. */
export interface ReadAnswer {
  row(i: number): Uint8Array | undefined
}

/** Entries of a batch of scans: those of scan i are number offsets[i] to offsets[i + 1]. */
export interface ScanAnswer {
  readonly offsets: Uint32Array
  /** The keys' 32-bit words, all of one width. */
  readonly words: Uint32Array
  row(entry: number): Uint8Array
  /** Whether a scan may have more entries than it was asked for. */
  more(i: number): boolean
}

/** One connection to what is tested. */
export interface Target {
  /** What the server says of itself. */
  describe(): Promise<ServerFacts>
  /** Makes what the data set is loaded into. @throws WarpdexError when there is something already */
  create(): Promise<void>
  /** @throws WarpdexError when what is there does not fit */
  check(): Promise<void>
  /** Stores the batches in their order. @returns when all are stored */
  load(
    batches: Iterable<readonly [KeyColumn, PayloadRows]>,
    onProgress: (stored: number) => void,
  ): Promise<void>
  /** Removes what the test has stored: the items that `batches` has. */
  remove(batches: Iterable<KeyColumn>): Promise<void>
  read(keys: KeyColumn): Promise<ReadAnswer>
  /** Puts a payload in the place of what each key has. */
  update(keys: KeyColumn, payloads: PayloadRows): Promise<void>
  /** Stores keys that are not there. @returns how many were there already */
  insert(keys: KeyColumn, payloads: PayloadRows): Promise<number>
  /** The first `limit` entries from each key on. */
  scan(keys: KeyColumn, limit: number): Promise<ScanAnswer>
  /** The same entries, each asked for by the one before it. */
  walk(keys: KeyColumn, limit: number): Promise<ScanAnswer>
  close(): void
}

/** What a report says of the server. */
export interface ServerFacts {
  readonly kind: 'warpdex' | 'redis'
  readonly version: string
  /** The adapter that does the work, of a warpdex server. */
  readonly adapter: string | undefined
}
