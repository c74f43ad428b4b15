import { setImmediate } from 'node:timers/promises'
import { parseOutcomeKey } from '../log/write-outcomes.js'
import { decodeSegment, parseSegmentKey } from '../payloads/segment.js'
import { readEntry } from './dictionary.js'
import { numberOf } from './keys.js'
import { LmdbFile } from './lmdb-file.js'
import { type LmdbEntry, LmdbWalk } from './lmdb-tree.js'
import { damaged, decodeRecord, RecordKind } from './record.js'

/** How long other work may have to wait. */
const SLICE_MS = 20

/**
 * Looks whether a file is one that LMDB can open and read, since LMDB crashes the process on one that it cannot, and whether what
 * opening takes from keys alone can be trusted. Records are not read that are read and checked before they are used.
 *
 * @returns false when there is no file or an empty one, which LMDB takes for new
 * @throws WarpdexError `DAMAGED_FILE`
 */
export async function checkDataFile(path: string): Promise<boolean> {
  const file = LmdbFile.open(path)
  if (file === undefined) return false
  try {
    const check = new KeyCheck(path)
    let end = performance.now() + SLICE_MS
    for (const _ of LmdbWalk.steps(file, (table, entry) => check.visit(table, entry))) {
      if (performance.now() < end) continue
      await setImmediate()
      end = performance.now() + SLICE_MS
    }
    check.finish()
    return true
  } finally {
    file.close()
  }
}

/** What a damaged key would change unnoticed: which index a record is of, where a log ends, which row is next, which writes are known. */
class KeyCheck {
  readonly #path: string
  readonly #indexes = new Set<number>()
  /** Index and position of the log record before. */
  #log: { index: number; position: number } | undefined
  /** Checks the last segment that was seen, from which the number of the next row follows. */
  #lastSegment: { readonly index: number; readonly check: () => void } | undefined

  constructor(path: string) {
    this.#path = path
  }

  visit(table: string, entry: LmdbEntry): void {
    switch (table) {
      case 'indexes': {
        const { index, relation, dropped } = readEntry(entry.key, entry.value())
        const id = index?.id ?? relation?.id ?? dropped
        if (id !== undefined) this.#indexes.add(id)
        return
      }
      case 'log':
        this.#visitLog(entry.key)
        return
      case 'outcomes':
        this.#visitOutcome(entry)
        return
      case 'payloads':
        this.#visitSegment(entry)
        return
      case 'snapshots':
        this.#indexOf(entry.key, 'a pointer to a snapshot')
    }
  }

  finish(): void {
    this.#lastSegment?.check()
  }

  #visitLog(key: Buffer): void {
    const index = this.#indexOf(key, 'a log record')
    const position = numberOf(key)
    if (this.#log?.index === index && position !== this.#log.position + 1) {
      throw damaged(
        `${this.#path} is damaged: the log of index ${index} lacks position ${this.#log.position + 1}; bring the data directory back from a backup`,
      )
    }
    this.#log = { index, position }
  }

  /** Values with pages of their own are not read: their keys would have to be damaged in just the way that keeps their order. */
  #visitOutcome({ key, inline }: LmdbEntry): void {
    const { client, write } = parseOutcomeKey(key)
    if (inline === undefined) return
    decodeRecord(RecordKind.outcome, key, inline, `the outcome of write ${write} of client ${client}`)
  }

  #visitSegment({ key, inline, value }: LmdbEntry): void {
    const index = this.#indexOf(key, 'a payload segment')
    if (this.#lastSegment !== undefined && this.#lastSegment.index !== index) this.#lastSegment.check()
    const what = `the payload segment of index ${index} from row ${parseSegmentKey(key).firstRow}`
    const own = Buffer.from(key)
    const read = inline === undefined ? value : keep(Buffer.from(inline))
    this.#lastSegment = { index, check: () => void decodeSegment(own, read(), what) }
  }

  #indexOf(key: Buffer, what: string): number {
    const index = key.length < 12 ? undefined : key.readUInt32BE(0)
    if (index !== undefined && this.#indexes.has(index)) return index
    throw damaged(
      `${this.#path} is damaged: it holds ${what} of index ${index ?? 'unknown'}, which does not exist; bring the data directory back from a backup`,
    )
  }
}

function keep<T>(value: T): () => T {
  return () => value
}
