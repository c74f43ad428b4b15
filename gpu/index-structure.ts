import type { Column } from '../protocol/columns.js'
import type { WarpdexError } from '../protocol/errors.js'
import type { WriteColumns } from '../protocol/request-columns.js'
import type { Explanation, Traversal, TreeLayout } from '../protocol/traversal.js'
import type { KeyType } from '../protocol/types.js'
import type { DeviceReads } from './device-reads.js'
import type { PageRun } from './memory/page-run.js'
import type { ResultMemory } from './memory/result-memory.js'

/** What a structure on the device must know of its index. It knows nothing of names, files or sockets. */
export interface IndexShape extends TreeLayout {
  readonly keyType: KeyType
  /** Bytes of one payload as writes bring it: 4, 8, n of `fixed(n)`, or 16 for `bytes` (row id and content hash); with `expires` 8 more. */
  readonly payloadBytes: number
  /** Whether each payload begins with when it expires, which reads leave out: milliseconds since 1970, u64, or 0 for never. */
  readonly expires?: boolean | undefined
  readonly unique: boolean
  /** First 32-bit word of a payload that deletePair compares: 2 for `bytes` (its content hash), else 0. */
  readonly matchFrom: number
}

/** First payload of each key; zeros, or no bytes, where there is none. */
export interface GetResult {
  /** Bit i of byte i >> 3 is set when key i has a payload. */
  readonly found: Uint8Array
  readonly payloads: Column
  /** Sequence number of each payload among its key's, u32, where the request asks for it. */
  readonly sequences?: Column | undefined
}

/** All payloads of each key: those of key i are number offsets[i] to before offsets[i + 1]. */
export interface GetAllResult {
  readonly offsets: Uint32Array
  readonly payloads: Column
}

/**
 * The columns of a read. Ends of ranges, and the keys of positions, may be any bytes where keys are of variable length, also leading
 * parts of an encoded tuple: they stand before all keys that begin with them.
 */
export interface ReadColumns {
  /** What to find, of all reads but scans. */
  readonly keys?: Column | undefined
  /** For `getNext`: sequence numbers (u32) to continue after within each key; without them it continues after the whole key. */
  readonly sequences?: Column | undefined
  /** For ranges: one key each; without the column that end of every range is open. */
  readonly from?: Column | undefined
  readonly to?: Column | undefined
  /**
   * For scans: positions to continue after, one a range, key bytes then sequence number (u32): they replace `from`, or `to` of a reverse
   * scan. A position of all ones (0xff bytes) is past the end: that range yields nothing. With keys of variable length a
   * position of four bytes, all ones, is.
   */
  readonly tokens?: Column | undefined
}

/** Ranges of entries, and whether their ends belong to them. */
export interface RangeOptions {
  readonly ranges: number
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
}

export interface ScanOptions extends RangeOptions {
  readonly reverse?: boolean | undefined
  /** Entries to return for each range. */
  readonly limit: number
  /** What the result is to lack. */
  readonly withoutKeys?: boolean | undefined
  readonly withoutPayloads?: boolean | undefined
  /** Whether payloads come with when they expire; of structures whose payloads do. */
  readonly withExpireAt?: boolean | undefined
  /** Where the columns of the result may go; memory of their own without it. */
  readonly memory?: ResultMemory | undefined
}

/** What a read is given beside its columns, by operation. */
export interface ReadOptions {
  /** The first payload of each key. */
  readonly get: {
    readonly traversal?: Traversal | undefined
    readonly withSequences?: boolean | undefined
    /** Where the result may go; memory of its own without it. */
    readonly memory?: ResultMemory | undefined
  }
  /** All payloads of each key, `limit` at most: more are `TOO_LARGE`. */
  readonly getAll: { readonly limit: number }
  /** The number of payloads of each key. */
  readonly count: object
  /** The entry after each key or position, or before it. */
  readonly getNext: { readonly reverse?: boolean | undefined; readonly traversal?: Traversal | undefined }
  /** The entries of each range in order. */
  readonly scan: ScanOptions
  /** The number of entries of each range. */
  readonly countRanges: RangeOptions
  /** How a get of these keys, one at least, would be done. */
  readonly explain: { readonly traversal?: Traversal | undefined }
  /** Payloads that expire until then, in milliseconds since 1970, at most `limit` of them; of structures whose payloads expire. */
  readonly due: { readonly until: number; readonly limit: number }
}

export interface ReadResults {
  readonly get: GetResult
  readonly getAll: GetAllResult
  /** u32, one a key. */
  readonly count: Uint8Array
  readonly getNext: GetNextResult
  readonly scan: ScanResult
  readonly countRanges: BigUint64Array
  readonly explain: Explanation
  readonly due: DueResult
}

export type ReadOp = keyof ReadOptions

export type ReadRequest<Op extends ReadOp> = { readonly op: Op } & ReadOptions[Op]

export interface ScanResult {
  /** Entries of range i are number offsets[i] to before offsets[i + 1] of `keys` and `payloads`. */
  readonly offsets: Uint32Array
  /** Of no rows where they were to be left out, as the payloads are. */
  readonly keys: Column
  readonly payloads: Column
  /** When each payload expires, u64, 0 for never, where the request asks for it. */
  readonly expireAt?: Column | undefined
  /** One byte a range: 1 when the range was cut at the limit. */
  readonly more: Uint8Array
  /** One position a range, of its last entry; zeros, or of no bytes, for a range without entries. */
  readonly tokens: Column
}

/** Payloads that are due, in any order. */
export interface DueResult {
  readonly keys: Column
  /** Whole, with when they expire. */
  readonly payloads: Column
  /** How many are due, of which these are some. */
  readonly due: number
  /** Milliseconds from the time that was asked for to when the next one expires, or to a time before that if it is weeks away. */
  readonly next: number
  /** How many expire after the time that was asked for. */
  readonly later: number
}

export interface GetNextResult {
  readonly found: Uint8Array
  readonly keys: Column
  readonly payloads: Column
  /** Sequence number of each entry among its key's payloads, u32. */
  readonly sequences: Column
}

/** An ordered batch of inserts and deletes, applied as if one after the other; payloads have the width of the shape. */
export interface WriteBatch extends WriteColumns {
  readonly traversal?: Traversal | undefined
  /** It is one of many such batches, as those of a load are: the structure may put off what only reads need. */
  readonly goesOn?: boolean | undefined
  /** Of such batches, how many items follow, where that is known: there may be made room for all of them at once. */
  readonly coming?: number | undefined
  /** Keys ascend, which whoever made the batch vouches for. */
  readonly isSorted?: boolean | undefined
  /** Pairs are deleted where payloads are equal from their first word on, not from the one that the shape says. */
  readonly matchesWhole?: boolean | undefined
}

/** A write batch whose outcome is known and whose memory is made sure of, but which has changed nothing yet. */
export interface PreparedWrite {
  /** One ResultCode an item. */
  readonly codes: Uint8Array
  /** Applies the batch: every read that is called after this returns sees all of it. */
  apply(): void
  /** Gives the batch up without a trace. */
  discard(): void
}

/** One part of a structure's image: a name, its length and its bytes in order. */
export interface ImagePart {
  readonly name: string
  readonly bytes: number
  readonly chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>
}

/** What a structure held, byte for byte: all that is needed to bring it back on any device. */
export interface StructureImage {
  /** Plain numbers and strings that describe the parts. */
  readonly meta: Readonly<Record<string, number | string | boolean>>
  readonly parts: readonly ImagePart[]
  /** Where it is cut into pieces by ranges of keys: the least key of each but the first, and the image of each. */
  readonly shards?: { readonly boundaries: Column; readonly images: readonly StructureImage[] } | undefined
}

/** Bytes under a name, in order. */
export interface NamedColumn {
  readonly name: string
  /** A chunk holds until the next one is asked for. */
  readonly chunks: AsyncIterable<Uint8Array>
}

/**
 * All that an index holds, in key order, in a form that does not depend on how it lies in memory. Neighbouring keys form groups; those of group
 * g have the columns
 *
 *   g/keys         as on the wire
 *   g/keyOffsets   for keys of variable length: where each begins, and where the last one ends
 *   g/payloads     of each key the first, filled up to whole words
 *
 * and, where a key has not just one payload with sequence number 0, or has had others, of such keys
 *
 *   g/lists        | number of the key in the group | payloads | next sequence number |
 *   g/entries      | sequence number | payload, filled up to whole words |  of all payloads of these keys
 *
 * Groups are numbered from 0 on. All words are u32, little-endian.
 */
export interface StructureEntries {
  readonly meta: { readonly keys: number; readonly payloads: number }
  /** To be read one after the other, each to its end. */
  readonly columns: AsyncIterable<NamedColumn>
  /** Gives memory back; what is being read fails. */
  release(): void
}

/** Payloads of keys, and the sequence numbers that they are to have. */
export interface PayloadLists {
  readonly keys: Column
  /** Payloads of each key, and its next sequence number. */
  readonly lists: Uint32Array
  /** One a payload. */
  readonly sequences: Uint32Array
}

/** Device memory of one role, such as the nodes. */
export interface RegionStats {
  readonly role: string
  readonly bytes: number
  /** Bytes of it that hold live or dead content; the rest is room to grow. */
  readonly usedBytes: number
  /**
   * Bytes of content that compaction would give back. Those of payload extents and of keys are counted together; where there are both they are
   * told apart in proportion to what is used.
   */
  readonly garbageBytes: number
}

export interface StructureStats {
  readonly keys: number
  readonly payloads: number
  /** Pieces by ranges of keys that it is held in: one, unless it is larger than what the device can bind. */
  readonly shards: number
  /** Bytes of device memory that the structure owns. */
  readonly deviceBytes: number
  /** Bytes of it that hold live or dead content; the rest is room to grow. */
  readonly usedBytes: number
  /** Bytes of content that compaction would give back. */
  readonly garbageBytes: number
  /** The device memory by role; `deviceBytes` together. */
  readonly regions: readonly RegionStats[]
  /** Batches of keys by how they were found since the structure came to the device: a strategy, and its resolution if it has one. */
  readonly traversals: Readonly<Record<string, number>>
}

/** How a structure is to be rebuilt between writes. */
export interface CompactionOptions {
  /** The rebuilding goes on beside reads and writes, if there is room for that, and is done some time later. */
  readonly inBackground: boolean
  /** More is about to be written, so that what only reads need may wait. */
  readonly goesOn?: boolean
  /** More may be written soon, so that room which is of use only then is kept. */
  readonly keepsRoom?: boolean
}

/**
 * An index on the device. Reads may overlap each other and are answered as of the last applied write; none is under way when a
 * write is prepared. Writes come one at a time: `prepare` is not called again before the last prepared write was applied or
 * discarded. Columns are little-endian bytes.
 *
 * Keys of variable length come with offsets. Strings are UTF-8, tuples are encoded as `protocol/tuple-key.ts` says; structures take both for
 * granted.
 *
 * Requests that name a traversal have keys found that way, or as the structure thinks best without one.
 * @throws WarpdexError `BAD_REQUEST` for a traversal that needs partitions where the structure has none
 */
export interface IndexStructure {
  readonly shape: IndexShape
  /**
   * @throws WarpdexError `TOO_LARGE` when a result has more than its limit, or its keys of variable length, or its tokens, have more
   * than `frameBytes` bytes
   */
  read<Op extends ReadOp>(request: ReadRequest<Op>, columns: ReadColumns): Promise<ReadResults[Op]>
  /**
   * Reads what is on the device with answers that stay there; structures that lie elsewhere have none. What is read stays as it is until
   * what `use` returns has settled.
   */
  duringReads?<T>(use: (reads: DeviceReads) => Promise<T>): Promise<T>
  /**
   * The batch's columns must not change before the write is applied or discarded.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`, `TOO_LARGE`, with nothing changed
   */
  prepare(batch: WriteBatch): Promise<PreparedWrite>
  /**
   * Rebuilds the structure without its garbage when that is worthwhile, and brings up to date what reads would otherwise have to. Called
   * between writes.
   * @returns whether the structure was rebuilt within the call
   */
  compactIfWorthwhile(options?: CompactionOptions): Promise<boolean>
  /**
   * What goes on in the background; undefined where nothing does. Never rejects, and resolves when that is over and its memory given
   * back: with an error if it failed, which does the structure no harm. Destroying the structure ends it.
   */
  readonly background: Promise<WarpdexError | undefined> | undefined
  /** An image in host memory, as of the last applied write. Nothing is written before it is there. */
  image(): Promise<StructureImage>
  /**
   * A structure of its own with all that this one holds, on its device. Nothing is written before it is there.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  copy(): Promise<IndexStructure>
  /** All that it holds as of the last applied write; later writes do not change it. `loadEntries` brings it back. */
  entries(): Promise<StructureEntries>
  /**
   * Gives keys whose payloads were just inserted the sequence numbers that they had elsewhere, which clients may hold. Between writes. A key for which
   * `needsSpare` is so must have one payload more, which goes.
   */
  renumber(lists: PayloadLists): Promise<void>
  stats(): StructureStats
  /** The pages that it has, but for those of its work in the background. They may be moved while nobody uses it and nothing goes on there. */
  readonly runs: readonly PageRun[]
  /** As in `stats`. */
  readonly deviceBytes: number
  /** Bytes of `deviceBytes` that reads may add to: partition tables. Asked after each read, so that it takes no time. */
  readonly derivedBytes: number
  destroy(): void
}
