import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import type { IndexDefinition } from '../../protocol/types.js'
import { readEntry } from '../disk/dictionary.js'
import { numberOf } from '../disk/keys.js'
import { LmdbFile } from '../disk/lmdb-file.js'
import { type LmdbEntry, LmdbWalk } from '../disk/lmdb-tree.js'
import { damaged, decodeRecord, RecordKind } from '../disk/record.js'
import { DATA_FILE, SNAPSHOT_DIRECTORY, SNAPSHOT_FILE } from '../disk/store-files.js'
import { decodeAppend, decodeBatch } from '../log/log-records.js'
import { parseOutcomeKey } from '../log/write-outcomes.js'
import { decodeSegment, parseSegmentKey } from '../payloads/segment.js'
import { SnapshotReader } from '../snapshots/snapshot-file.js'
import { decodePointer, type SnapshotInfo } from '../snapshots/snapshots.js'

/** One thing that is wrong. */
export interface Finding {
  /** Whether something is lost by it, or the server does not start; otherwise it costs nothing but time or room. */
  readonly isLoss: boolean
  readonly what: string
  /** What to do about it. */
  readonly remedy: string
}

/** An index or a relation. */
interface Inspected<Definition> {
  readonly id: number
  readonly definition: Definition
  /** Positions of the log's records; `last` is 0 when there is none. */
  readonly first: number
  readonly last: number
  /** Snapshots whose every byte is sound, newest first. */
  readonly snapshots: readonly SnapshotInfo[]
}

export type InspectedIndex = Inspected<IndexDefinition>
export type InspectedRelation = Inspected<RelationDefinition>

/** What a data file and its snapshots hold, and what is wrong with them. */
export interface Inspection {
  readonly indexes: readonly InspectedIndex[]
  readonly relations: readonly InspectedRelation[]
  /** Records of all kinds that were checked. */
  readonly records: number
  readonly findings: readonly Finding[]
}

export interface InspectionOptions {
  /** Told how many bytes were read. */
  readonly onProgress?: ((bytes: number) => void) | undefined
  /** Ends it, with the signal's reason, once it is aborted. */
  readonly stop?: AbortSignal | undefined
}

/** Neighbouring records of a log that are missing, or one that is damaged. */
interface BadRecords {
  readonly from: number
  readonly to: number
  readonly what: string
}

/** An index or a relation while its records are being read. */
interface IndexFacts {
  readonly id: number
  definition?: IndexDefinition
  relation?: RelationDefinition
  isDropped: boolean
  first: number
  last: number
  readonly badRecords: BadRecords[]
  nextRow: number
  readonly pointers: SnapshotInfo[]
}

const FROM_BACKUP = 'bring the data directory back from a backup'
/** How long other work may have to wait. */
const SLICE_MS = 5

/**
 * Checks every byte that counts: the form of LMDB's file, the checksum of each record and snapshot, and that they belong together.
 * Nothing is changed, and LMDB is not used, which a damaged file could crash.
 */
export class Inspector {
  readonly #directory: string
  readonly #options: InspectionOptions
  readonly #indexes = new Map<number, IndexFacts>()
  readonly #findings: Finding[] = []
  #records = 0
  #bytes = 0
  #nextId: number | undefined
  #hasFormat = false

  constructor(directory: string, options: InspectionOptions = {}) {
    this.#directory = directory
    this.#options = options
  }

  /** Checks the data file and its snapshots. Raises no error for damage. */
  async run(): Promise<Inspection> {
    await this.readDataFile()
    await this.#checkSnapshots()
    const all = [...this.#indexes.values()].filter(({ isDropped }) => !isDropped)
    const indexes: InspectedIndex[] = []
    const relations: InspectedRelation[] = []
    for (const facts of all) {
      const { id, definition, relation, first, last, pointers } = facts
      const snapshots = [...pointers].sort((a, b) => b.position - a.position)
      const figures = { id, first, last, snapshots }
      if (definition !== undefined) indexes.push({ ...figures, definition })
      else if (relation !== undefined) relations.push({ ...figures, definition: relation })
      else {
        this.#lose(`there are records of index ${id}, but no definition of it`)
        continue
      }
      this.#checkLog(facts)
    }
    return { indexes, relations, records: this.#records, findings: this.#findings }
  }

  /** Reads the data file, and tells which snapshot files it names. */
  async readDataFile(): Promise<readonly SnapshotInfo[]> {
    const path = join(this.#directory, DATA_FILE)
    let file: LmdbFile | undefined
    try {
      file = LmdbFile.open(path)
      if (file === undefined) throw damaged(`${path} is missing or empty`)
      const steps = LmdbWalk.steps(file, (table, entry) => this.#tryEntry(table, entry), {
        overflowPages: true,
      })
      let end = performance.now() + SLICE_MS
      for (const _ of steps) {
        if (performance.now() < end) continue
        await this.#pause()
        end = performance.now() + SLICE_MS
      }
      if (!this.#hasFormat) this.#lose(`${path} has no format record`)
    } catch (thrown) {
      this.#options.stop?.throwIfAborted()
      this.#lose(toWarpdexError(thrown).message)
    } finally {
      file?.close()
    }
    return [...this.#indexes.values()].flatMap(({ pointers }) => pointers)
  }

  async #pause(): Promise<void> {
    this.#options.stop?.throwIfAborted()
    this.#options.onProgress?.(this.#bytes)
    await setImmediate()
  }

  #tryEntry(table: string, entry: LmdbEntry): void {
    this.#records++
    this.#bytes += entry.key.length + entry.size
    try {
      this.#readEntry(table, entry.key, entry.value())
    } catch (thrown) {
      this.#lose(toWarpdexError(thrown).message)
    }
  }

  #readEntry(table: string, key: Buffer, value: Buffer): void {
    switch (table) {
      case '':
        decodeRecord(RecordKind.format, key, value, 'the format record')
        this.#hasFormat = true
        return
      case 'indexes':
        this.#readDefinition(key, value)
        return
      case 'log':
        this.#readLog(key, value)
        return
      case 'payloads':
        this.#readSegment(key, value)
        return
      case 'outcomes': {
        const { client, write } = parseOutcomeKey(key)
        decodeRecord(RecordKind.outcome, key, value, `the outcome of write ${write} of client ${client}`)
        return
      }
      case 'snapshots':
        this.#of(key).pointers.push(decodePointer(key, value))
        return
      default:
        throw damaged(`the data file has a table ${JSON.stringify(table)}, which is not known`)
    }
  }

  #readDefinition(key: Buffer, value: Buffer): void {
    const { next, dropped, index, relation } = readEntry(key, value)
    if (next !== undefined) this.#nextId = next
    if (dropped !== undefined) this.#of(key).isDropped = true
    if (index !== undefined) this.#of(key).definition = index.definition
    if (relation !== undefined) this.#of(key).relation = relation.definition
  }

  /** Keys come in order, so that what is missing shows as a gap, and definitions before what they define. */
  #readLog(key: Buffer, value: Buffer): void {
    const facts = this.#of(key)
    const position = numberOf(key)
    if (facts.last === 0) facts.first = position
    else if (position > facts.last + 1) {
      const [from, to] = [facts.last + 1, position - 1]
      facts.badRecords.push({
        from,
        to,
        what: `the log of index ${facts.id} lacks positions ${from} to ${to}`,
      })
    }
    facts.last = position
    const what = `the log record of index ${facts.id} at position ${position}`
    try {
      if (facts.relation === undefined) decodeBatch(key, value, what)
      else decodeAppend(key, value, what)
    } catch (thrown) {
      facts.badRecords.push({ from: position, to: position, what: toWarpdexError(thrown).message })
    }
  }

  #readSegment(key: Buffer, value: Buffer): void {
    const facts = this.#of(key)
    const { firstRow, count } = parseSegmentKey(key)
    const what = `the payload segment of index ${facts.id} from row ${firstRow}`
    if (firstRow < facts.nextRow) throw damaged(`${what} overlaps with the one before it`)
    facts.nextRow = firstRow + count
    const { offsets } = decodeSegment(key, value, what)
    if (offsets.length !== count + 1) throw damaged(`${what} has not the rows that its key says`)
  }

  async #checkSnapshots(): Promise<void> {
    const directory = join(this.#directory, SNAPSHOT_DIRECTORY)
    const named = new Set<string>()
    for (const { id, pointers, isDropped } of this.#indexes.values()) {
      for (const pointer of [...pointers]) {
        named.add(pointer.file)
        if (isDropped || (await this.#checkSnapshot(join(directory, pointer.file), id, pointer))) continue
        pointers.splice(pointers.indexOf(pointer), 1)
      }
    }
    if (!existsSync(directory)) return
    for (const name of readdirSync(directory)) {
      if (named.has(name) || !SNAPSHOT_FILE.test(name)) continue
      const isStrange = this.#nextId !== undefined && Number.parseInt(name, 10) >= this.#nextId
      if (isStrange) this.#lose(`${name} is a snapshot of an index that the data file has never had`)
      else
        this.#note(`${name} is a snapshot that nothing refers to`, 'the next start of the server removes it')
    }
  }

  async #checkSnapshot(path: string, index: number, { position, bytes }: SnapshotInfo): Promise<boolean> {
    this.#options.stop?.throwIfAborted()
    try {
      await SnapshotReader.verify(path, { index, position })
      this.#records++
      this.#bytes += bytes
      this.#options.onProgress?.(this.#bytes)
      return true
    } catch (thrown) {
      if (!(thrown instanceof WarpdexError)) throw thrown
      this.#note(
        thrown.message,
        'the server starts without it if it can; take a new one with "warpdex snapshot"',
      )
      return false
    }
  }

  /** Whether the index or relation can be built from a sound snapshot and the log after it. */
  #checkLog({ id, definition, relation, first, last, badRecords, pointers }: IndexFacts): void {
    const newest = Math.max(0, ...pointers.map(({ position }) => position))
    const kind = relation === undefined ? 'index' : 'relation'
    const index = `${kind} ${id} (${JSON.stringify((definition ?? relation)?.name)})`
    if (newest > last) {
      this.#lose(
        `the log of ${index} ends at position ${last}, but there is a snapshot of position ${newest}`,
      )
    }
    if (newest + 1 < first) {
      this.#lose(
        `${index} needs a snapshot, because its log begins at position ${first}, and has none that is sound`,
      )
    }
    for (const { what, to } of badRecords) {
      if (to > newest) this.#lose(what)
      else
        this.#note(
          what,
          `it is not needed while the snapshot of position ${newest} is sound; take two new ones, which lets it go`,
        )
    }
  }

  #of(key: Buffer): IndexFacts {
    if (key.length < 4) throw damaged('a key is damaged')
    const id = key.readUInt32BE(0)
    let facts = this.#indexes.get(id)
    if (facts === undefined) {
      facts = { id, isDropped: false, first: 1, last: 0, badRecords: [], nextRow: 0, pointers: [] }
      this.#indexes.set(id, facts)
    }
    return facts
  }

  #lose(what: string): void {
    this.#findings.push({ isLoss: true, what, remedy: FROM_BACKUP })
  }

  #note(what: string, remedy: string): void {
    this.#findings.push({ isLoss: false, what, remedy })
  }
}
