import { aligned, asBytes, type Column, type CutColumn } from '../../protocol/columns.js'
import type { ColumnValues, RelationBatch } from '../../protocol/relation-batch.js'
import type { RemovedRows } from '../../protocol/removed-rows.js'
import type { WriteColumns } from '../../protocol/request-columns.js'
import { WriteOp } from '../../protocol/types.js'
import {
  decodeRecord,
  encodeRecord,
  kindOf,
  numberOf,
  RecordKind,
  type StoredRecord,
} from '../disk/record.js'
import type { WriteOutcome } from './write-outcomes.js'

/** The payloads of one batch: row firstRow + i is number i. */
export interface PayloadSegment extends CutColumn {
  /** The next row of the index: rows are dense, ascending and never used again. */
  readonly firstRow: number
}

/**
 * A write batch, and all that becomes durable with it, together or not at all. Its payloads are as the device holds them: those of kind `bytes`
 * row id and content hash, so that replay needs no bytes. Checksums of columns (`checksums.ts`) are a record's longest step where they are not known.
 */
export interface LogRecord extends WriteColumns {
  /** Bit i of byte i >> 3 is clear where item i has changed nothing; absent where all have changed something. */
  readonly changed?: Uint8Array | undefined
  readonly expiry?: LoggedExpiry | undefined
  readonly segment?: PayloadSegment | undefined
  /** Outcomes of the clients' writes that the batch is made of. */
  readonly outcomes?: readonly WriteOutcome[] | undefined
}

/** Bytes of the time before each payload of an index whose entries expire. */
export const TIME_BYTES = 8

/** Of an index whose entries expire, in milliseconds since 1970. */
export interface LoggedExpiry {
  /** Until when entries that expire had been removed before the batch; 0 in a replica set, where each removal is a record. */
  readonly through: number
  /** When the first of the batch's own does; absent where none does. */
  readonly first?: number | undefined
}

/** A write batch as it is stored: without the widths of its values, which the log does not know. */
export interface StoredBatch {
  readonly ops: WriteOp | Uint8Array
  readonly keys: Pick<Column, 'bytes' | 'offsets'>
  readonly payloads: Uint8Array | undefined
  /** As of `LogRecord`. */
  readonly changed?: Uint8Array | undefined
  /** What is deleted in the place of items, of which there are none then. */
  readonly range?: LoggedRange | undefined
  /** As of `RemovalRecord`, in the place of items. */
  readonly due?: number | undefined
  readonly expiry?: LoggedExpiry | undefined
}

/** A range of keys, as bytes of one key each; an absent end is open. */
export interface LoggedRange {
  readonly from?: Uint8Array | undefined
  readonly to?: Uint8Array | undefined
  readonly fromExclusive?: boolean | undefined
  readonly toExclusive?: boolean | undefined
}

/** The deletion of all that a range holds, and the outcomes that become durable with it. What that is follows from the records before. */
export interface RangeRecord {
  readonly range: LoggedRange
  readonly expiry?: LoggedExpiry | undefined
  readonly outcomes?: readonly WriteOutcome[] | undefined
}

/** In a replica set, the removal of all entries that expire until some time, in milliseconds since 1970. What that is follows from the records before. */
export interface RemovalRecord {
  readonly due: number
  readonly outcomes?: undefined
}

/** What changes of a relation: rows that are deleted, and others that are appended. */
export interface RowChanges {
  readonly batch: RelationBatch
  /** Rows before those of the batch. */
  readonly removed?: RemovedRows | undefined
  /** Whether it is a compaction, and nothing else: live rows get the numbers from 0 on in their order. */
  readonly compacts?: boolean | undefined
}

/** The same, and the outcomes of the clients' writes that become durable with it. */
export interface AppendRecord extends RowChanges {
  readonly outcomes?: readonly WriteOutcome[] | undefined
}

/** What the sections of a batch's record are; its meta object. */
interface BatchMeta {
  /** Bytes of all records of the index before it, with the payloads that were stored beside them. */
  readonly start?: number
  /** Of the deletion of a range, which has nothing else: which of its ends there are, and which do not belong to it. */
  readonly range?: Readonly<Record<'from' | 'to' | 'fromExclusive' | 'toExclusive', boolean>>
  /** Of a removal, which has nothing else. */
  readonly due?: number
  /** The kind of all items; without it the first section holds one byte an item. */
  readonly op?: WriteOp
  /** Whether a section after the keys holds payloads. */
  readonly payloads: boolean
  /** Whether the section after those holds the keys' offsets. */
  readonly keyOffsets?: boolean
  /** Whether the last section tells which items have changed something. */
  readonly changed?: boolean
  readonly expiry?: LoggedExpiry
}

/**
 * @param start bytes of all records before it
 * @param allocate gives the record's buffer, of so many bytes
 */
export function encodeBatch(
  key: Buffer,
  { ops, keys, payloads, changed, expiry }: LogRecord,
  start: number,
  allocate: (bytes: number) => Buffer,
): Buffer {
  const isMixed = typeof ops !== 'number'
  const meta: BatchMeta = {
    start,
    ...(isMixed ? {} : { op: ops }),
    payloads: payloads !== undefined,
    ...(keys.offsets && { keyOffsets: true }),
    ...(changed && { changed: true }),
    ...(expiry && { expiry }),
  }
  const columns = [...(isMixed ? [{ bytes: ops }] : []), keys, ...(payloads ? [payloads] : [])]
  const sections = columns.map(({ bytes }) => bytes)
  if (keys.offsets !== undefined) sections.push(asBytes(keys.offsets))
  if (changed !== undefined) sections.push(changed)
  const known = columns.map(({ checksum }: Partial<Column>) => checksum)
  return encodeRecord(RecordKind.write, key, meta, sections, allocate, known)
}

/** Its parameters are as of `encodeBatch`. */
export function encodeRange(
  key: Buffer,
  { range: { from, to, fromExclusive = false, toExclusive = false }, expiry }: RangeRecord,
  start: number,
  allocate: (bytes: number) => Buffer,
): Buffer {
  const range = { from: from !== undefined, to: to !== undefined, fromExclusive, toExclusive }
  const meta: BatchMeta = { start, payloads: false, range, ...(expiry && { expiry }) }
  return encodeRecord(RecordKind.write, key, meta, [from ?? [], to ?? []].flat(), allocate)
}

/** Its parameters are as of `encodeBatch`. */
export function encodeRemoval(
  key: Buffer,
  { due }: RemovalRecord,
  start: number,
  allocate: (bytes: number) => Buffer,
): Buffer {
  const meta: BatchMeta = { start, payloads: false, due }
  return encodeRecord(RecordKind.write, key, meta, [], allocate)
}

/** A record in words, from its key. */
export function describeLogRecord(key: Buffer): string {
  return `the log record of index ${key.readUInt32BE(0)} at position ${numberOf(key)}`
}

function decodeWrite(key: Buffer, value: Buffer): StoredRecord<BatchMeta> {
  return decodeRecord(RecordKind.write, key, value, describeLogRecord(key))
}

/** Bytes of all records before that of a batch. @throws WarpdexError `DAMAGED_FILE` */
export function startOfBatch(key: Buffer, value: Buffer): number {
  return decodeWrite(key, value).meta.start ?? 0
}

/** @throws WarpdexError `DAMAGED_FILE` */
export function decodeBatch(key: Buffer, value: Buffer): StoredBatch {
  const { meta, sections } = decodeWrite(key, value)
  const { expiry, due } = meta
  const nothing = { ops: WriteOp.deleteKey, keys: { bytes: new Uint8Array(0) }, payloads: undefined }
  if (due !== undefined) return { ...nothing, due }
  if (meta.range !== undefined) {
    const { from, to, fromExclusive, toExclusive } = meta.range
    const ends = { from: from ? sections[0] : undefined, to: to ? sections.at(-1) : undefined }
    return { ...nothing, range: { ...ends, fromExclusive, toExclusive }, expiry }
  }
  const [keys, ...others] = meta.op === undefined ? sections.slice(1) : sections
  const changed = meta.changed === true ? others.pop() : undefined
  const keyOffsets = meta.keyOffsets === true ? others.pop() : undefined
  return {
    ops: meta.op ?? sections[0],
    keys: { bytes: keys, offsets: keyOffsets && aligned(keyOffsets, Uint32Array) },
    payloads: meta.payloads ? others[0] : undefined,
    changed,
    expiry,
  }
}

/**
 * The meta object of a record of rows that were appended to a relation. Its sections are, for each column, values, validity if it
 * has nulls, and of strings bytes and offsets.
 */
interface AppendMeta {
  readonly rows: number
  readonly columns: readonly {
    readonly name: string
    readonly validity: boolean
    readonly strings: boolean
  }[]
  /** Of a record that deletes rows, in sections behind those of the columns: all words from a place on, or places and words. */
  readonly removed?: { readonly rows: number; readonly first?: number }
  readonly compacts?: boolean
}

/** @param allocate gives the record's buffer, of so many bytes */
export function encodeAppend(
  key: Buffer,
  { batch: { rows, columns }, removed, compacts }: RowChanges,
  allocate: (bytes: number) => Buffer,
): Buffer {
  const sections: Uint8Array[] = []
  const described = [...columns].map(([name, { values, validity, strings }]) => {
    sections.push(values)
    if (validity !== undefined) sections.push(validity)
    if (strings !== undefined) sections.push(strings.bytes, asBytes(strings.offsets))
    return { name, validity: validity !== undefined, strings: strings !== undefined }
  })
  const meta: AppendMeta = { rows, columns: described }
  if (compacts === true) return encodeRecord(RecordKind.change, key, { ...meta, compacts }, [], allocate)
  if (removed === undefined) return encodeRecord(RecordKind.append, key, meta, sections, allocate)
  const { first, parts } = packRemoved(removed)
  const changes: AppendMeta = {
    ...meta,
    removed: { rows: removed.rows, ...(first !== undefined && { first }) },
  }
  return encodeRecord(RecordKind.change, key, changes, [...sections, ...parts], allocate)
}

/** The words of deleted rows in the form that takes the fewest bytes. */
function packRemoved({ places, bits }: RemovedRows): {
  readonly first?: number
  readonly parts: readonly Uint8Array[]
} {
  const first = places[0] ?? 0
  const words = (places.at(-1) ?? 0) - first + 1
  if (words >= 2 * places.length) return { parts: [asBytes(places), asBytes(bits)] }
  const all = new Uint32Array(words)
  places.forEach((place, i) => {
    all[place - first] = bits[i]
  })
  return { first, parts: [asBytes(all)] }
}

function unpackRemoved(
  { rows, first }: NonNullable<AppendMeta['removed']>,
  sections: readonly Uint8Array[],
): RemovedRows {
  const [one, other] = sections.map((section) => aligned(section, Uint32Array))
  if (first === undefined) return { places: one, bits: other, rows }
  const set = Uint32Array.from(one.keys()).filter((word) => one[word] !== 0)
  return { places: set.map((word) => first + word), bits: set.map((word) => one[word]), rows }
}

/** @throws WarpdexError `DAMAGED_FILE` */
export function decodeAppend(key: Buffer, value: Buffer): RowChanges {
  // A program that knows of no deletions must not take a record with some for a mere append.
  const kind = kindOf(value) === RecordKind.change ? RecordKind.change : RecordKind.append
  const { meta, sections } = decodeRecord<AppendMeta>(kind, key, value, describeLogRecord(key))
  const columns = new Map<string, ColumnValues>()
  let next = 0
  for (const { name, validity, strings } of meta.columns) {
    const column = { values: sections[next++], validity: validity ? sections[next++] : undefined }
    if (!strings) {
      columns.set(name, column)
      continue
    }
    const bytes = sections[next++]
    columns.set(name, { ...column, strings: { bytes, offsets: aligned(sections[next++], Uint32Array) } })
  }
  const batch = { rows: meta.rows, columns }
  return meta.removed === undefined
    ? { batch, compacts: meta.compacts }
    : { batch, removed: unpackRemoved(meta.removed, sections.slice(next)) }
}
