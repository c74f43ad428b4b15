import type { KeyColumn, PayloadRows, ReadAnswer } from '../../clients/load-test/target.js'

/** A batch of keys in the forms that peers take them in. */
export interface Batch extends KeyColumn {
  /** The keys with their highest byte first, so that comparing bytes is comparing keys: what stores of bytes need. */
  readonly bigEndian: Buffer
}

/** What is measured side by side. Every call has keys that no call before had, and hands all payloads to its caller. */
export interface Peer {
  readonly name: string
  /** What is to be known about its figures. */
  readonly note: string
  /** Sizes of batches that it is measured with; all where it is absent. */
  readonly batches?: readonly number[]
  read(keys: Batch): ReadAnswer | Promise<ReadAnswer>
  /** Absent where another peer with the same store has it. */
  insert?(keys: Batch, payloads: PayloadRows): Promise<void>
  /** The first `limit` entries from each key on, for peers that keep keys in order. @returns how many entries there are */
  scan?(keys: Batch, limit: number): number | Promise<number>
  close(): Promise<void>
}

/** A peer that cannot be measured here, and why. */
export interface MissingPeer {
  readonly name: string
  readonly missing: string
}

/** Bytes of a key. */
export const KEY_BYTES = 8

/** Key number i of a batch: a view. */
export function bigEndianKey({ bigEndian }: Batch, i: number): Buffer {
  return bigEndian.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES)
}

/** Payload number i: a view. */
export function payloadRow({ bytes, width }: PayloadRows, i: number): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset + i * width, width)
}

/** Answers whose payloads lie one after the other. */
export function columnAnswer(bytes: Uint8Array, width: number, has: (i: number) => boolean): ReadAnswer {
  return { row: (i) => (has(i) ? bytes.subarray(i * width, (i + 1) * width) : undefined) }
}

/** Answers that are single payloads. */
export function listAnswer(rows: readonly (Uint8Array | null | undefined)[]): ReadAnswer {
  return { row: (i) => rows[i] ?? undefined }
}
