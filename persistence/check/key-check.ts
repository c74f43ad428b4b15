import { readEntry } from '../disk/dictionary.js'
import { numberOf } from '../disk/record.js'
import { decodeOutcome, parseOutcomeKey } from '../log/write-outcomes.js'
import { decodeSegment, describeSegment, parseSegmentKey, segmentRecordBytes } from '../payloads/segment.js'
import type { DataFile } from './data-file.js'

/** Longer outcomes are not read: their keys would have to be damaged in just the way that keeps their order. */
const OUTCOME_BYTES = 1024

/**
 * Looks whether LMDB can read a file throughout, and whether what opening takes from keys alone can be trusted: which index a record is of,
 * where a log ends, which row is next, which writes are known. Records are not read that are read and checked before they are used.
 *
 * @throws WarpdexError `DAMAGED_FILE`
 */
export function checkKeys(file: DataFile): void {
  const indexes = new Set<number>()
  for (const [key, value] of file.entries('indexes')) {
    const { index, relation, dropped } = readEntry(key, value)
    const id = index?.id ?? relation?.id ?? dropped
    if (id !== undefined) indexes.add(id)
  }
  const indexOf = (key: Buffer, what: string): number => {
    const index = key.length < 12 ? undefined : key.readUInt32BE(0)
    if (index !== undefined && indexes.has(index)) return index
    throw file.damage(`it holds ${what} of index ${index ?? 'unknown'}, which does not exist`)
  }
  checkLog(file, (key) => indexOf(key, 'a log record'))
  for (const [key, value] of file.entries('outcomes')) {
    if (value.length <= OUTCOME_BYTES) decodeOutcome(key, value)
    else {
      parseOutcomeKey(key)
      touch(value)
    }
  }
  checkSegments(file, (key) => indexOf(key, 'a payload segment'))
  for (const [key] of file.entries('snapshots')) indexOf(key, 'a pointer to a snapshot')
}

/** @throws WarpdexError where there is no such index */
type IndexOf = (key: Buffer) => number

function checkLog(file: DataFile, indexOf: IndexOf): void {
  let last: { index: number; position: number } | undefined
  for (const [key, value] of file.entries('log')) {
    const index = indexOf(key)
    const position = numberOf(key)
    if (last?.index === index && position !== last.position + 1)
      throw file.damage(`the log of index ${index} lacks position ${last.position + 1}`)
    last = { index, position }
    touch(value)
  }
}

/** There may be many gigabytes of segments, so only the last of each index is read, from which the number of the next row follows. */
function checkSegments(file: DataFile, indexOf: IndexOf): void {
  let last: { index: number; key: Buffer } | undefined
  const check = (key: Buffer | undefined): void => {
    if (key !== undefined) decodeSegment(key, file.read('payloads', key))
  }
  for (const [key, value] of file.entries('payloads')) {
    const index = indexOf(key)
    if (value.length !== segmentRecordBytes(parseSegmentKey(key)))
      throw file.damage(`${describeSegment(key)} has a wrong length`)
    if (!file.isWhole) touch(value)
    if (last?.index !== index) check(last?.key)
    last = { index, key }
  }
  check(last?.key)
}

/** Reads the last byte of a value: where the file does not reach so far the system ends the process. */
function touch(value: Buffer): void {
  value.at(-1)
}
