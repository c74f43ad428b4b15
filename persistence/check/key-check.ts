import { readEntry } from '../disk/dictionary.js'
import { numberOf } from '../disk/keys.js'
import { damaged, decodeRecord, RecordKind } from '../disk/record.js'
import { parseOutcomeKey } from '../log/write-outcomes.js'
import { decodeSegment, parseSegmentKey, segmentRecordBytes } from '../payloads/segment.js'
import type { DataFile, Entry } from './data-file.js'

/** Longer outcomes are not read: their keys would have to be damaged in just the way that keeps their order. */
const OUTCOME_BYTES = 1024

/**
 * Looks whether LMDB can read a file throughout, and whether what opening takes from keys alone can be trusted: which index a record is of,
 * where a log ends, which row is next, which writes are known. Records are not read that are read and checked before they are used.
 *
 * @throws WarpdexError `DAMAGED_FILE`
 */
export function checkKeys(file: DataFile): void {
  new KeyCheck(file).run()
}

class KeyCheck {
  readonly #file: DataFile
  readonly #indexes = new Set<number>()

  constructor(file: DataFile) {
    this.#file = file
  }

  run(): void {
    for (const [key, value] of this.#file.entries('indexes')) {
      const { index, relation, dropped } = readEntry(key, value)
      const id = index?.id ?? relation?.id ?? dropped
      if (id !== undefined) this.#indexes.add(id)
    }
    this.#checkLog()
    for (const [key, value] of this.#file.entries('outcomes')) {
      const { client, write } = parseOutcomeKey(key)
      if (value.length > OUTCOME_BYTES) touch(value)
      else decodeRecord(RecordKind.outcome, key, value, `the outcome of write ${write} of client ${client}`)
    }
    this.#checkSegments()
    for (const [key] of this.#file.entries('snapshots')) this.#indexOf(key, 'a pointer to a snapshot')
  }

  #checkLog(): void {
    let last: { index: number; position: number } | undefined
    for (const [key, value] of this.#file.entries('log')) {
      const index = this.#indexOf(key, 'a log record')
      const position = numberOf(key)
      if (last?.index === index && position !== last.position + 1)
        throw this.#damage(`the log of index ${index} lacks position ${last.position + 1}`)
      last = { index, position }
      touch(value)
    }
  }

  /** There may be many gigabytes of segments, so only the last of each index is read, from which the number of the next row follows. */
  #checkSegments(): void {
    let last: { index: number; key: Buffer } | undefined
    const check = (key: Buffer | undefined): void => {
      if (key !== undefined) decodeSegment(key, this.#file.read('payloads', key), this.#nameOf(key))
    }
    for (const [key, value] of this.#file.entries('payloads')) {
      const index = this.#indexOf(key, 'a payload segment')
      if (value.length !== segmentRecordBytes(parseSegmentKey(key)))
        throw this.#damage(`${this.#nameOf(key)} has a wrong length`)
      if (!this.#file.isWhole) touch(value)
      if (last?.index !== index) check(last?.key)
      last = { index, key }
    }
    check(last?.key)
  }

  #nameOf(key: Entry[0]): string {
    return `the payload segment of index ${key.readUInt32BE(0)} from row ${parseSegmentKey(key).firstRow}`
  }

  #indexOf(key: Buffer, what: string): number {
    const index = key.length < 12 ? undefined : key.readUInt32BE(0)
    if (index !== undefined && this.#indexes.has(index)) return index
    throw this.#damage(`it holds ${what} of index ${index ?? 'unknown'}, which does not exist`)
  }

  #damage(what: string): Error {
    return damaged(`${this.#file.path} is damaged: ${what}; bring the data directory back from a backup`)
  }
}

/** Reads the last byte of a value: where the file does not reach so far the system ends the process. */
function touch(value: Buffer): void {
  value.at(-1)
}
