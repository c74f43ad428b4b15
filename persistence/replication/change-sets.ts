import type { WarpdexError } from '../../protocol/errors.js'
import { damaged, decodeRecord, encodeRecord, RecordKind } from '../disk/record.js'
import { TABLES, type TableName } from '../disk/store-files.js'

/** A key of a table with its value; without one it is removed. */
export interface SharedChange {
  readonly table: TableName
  readonly key: Buffer
  readonly value?: Buffer | undefined
}

/** Changes that each store of a replica set makes in one transaction. */
export type ChangeSet = readonly SharedChange[]

/** Where a change set is in the log of a replica set. */
export interface SetPosition {
  /** Position of the log's entry. */
  readonly entry: number
  /** Number of the set within it. */
  readonly set: number
  /** Sets that the entry has. */
  readonly sets: number
}

/**
 * Appends an entry to the log of a replica set in another way than alone.
 * @param expected position of the last entry, behind which it comes
 * @returns its position
 */
export type AppendToLog = (entry: Uint8Array, expected: number) => Promise<number>

/** Appends to the log of a replica set. */
export interface ReplicaLog {
  /**
   * Resolves when a majority of the log's servers has the changes. Those of earlier calls come first.
   * @param how they are appended, as an entry of their own
   * @throws WarpdexError `NOT_OWNER`, or what else keeps them from being in the log, or from being known to be
   */
  append(changes: ChangeSet, how?: AppendToLog): Promise<SetPosition>
  /** Told why nothing more is appended: changes may be in the log that could not be made here. */
  failed(error: WarpdexError): void
}

/** Of each set the changes, in order: the number of the table in `TABLES`, and whether there is a value. Sections are their keys and values. */
interface EntryMeta {
  readonly sets: readonly (readonly (readonly [table: number, hasValue: boolean])[])[]
}

const ENTRY_KEY = Buffer.from('entry')

/** An entry of the log, as a record: see `disk/record.ts`. */
export function encodeEntry(sets: readonly ChangeSet[]): Buffer {
  const meta: EntryMeta = {
    sets: sets.map((set) => set.map(({ table, value }) => [TABLES.indexOf(table), value !== undefined])),
  }
  const sections = sets.flat().flatMap(({ key, value }) => (value === undefined ? [key] : [key, value]))
  return encodeRecord(RecordKind.entry, ENTRY_KEY, meta, sections)
}

/** @throws WarpdexError `DAMAGED_FILE` */
export function decodeEntry(bytes: Buffer): readonly ChangeSet[] {
  const what = 'an entry of the log of the replica set'
  const { meta, sections } = decodeRecord<EntryMeta>(RecordKind.entry, ENTRY_KEY, bytes, what)
  let next = 0
  const take = () => Buffer.from(sections[next++])
  return meta.sets.map((set) =>
    set.map(([number, hasValue]) => {
      const table = TABLES[number]
      if (table === undefined) throw damaged(`${what} changes table ${number}, which there is not`)
      return { table, key: take(), value: hasValue ? take() : undefined }
    }),
  )
}
