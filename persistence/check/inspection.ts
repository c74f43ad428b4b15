import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import type { IndexDefinition } from '../../protocol/types.js'
import { readEntry } from '../disk/dictionary.js'
import { damaged, decodeRecord, numberOf, RecordKind } from '../disk/record.js'
import { FORMAT_KEY, SNAPSHOT_DIRECTORY, SNAPSHOT_FILE, type TableName } from '../disk/store-files.js'
import { decodeAppend, decodeBatch } from '../log/log-records.js'
import { decodeOutcome } from '../log/write-outcomes.js'
import { decodeSegment, describeSegment, parseSegmentKey } from '../payloads/segment.js'
import { SnapshotReader } from '../snapshots/snapshot-file.js'
import { decodePointer, type SnapshotInfo } from '../snapshots/snapshots.js'
import { type DataFile, judged } from './data-file.js'

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

export const FROM_BACKUP = 'bring the data directory back from a backup'

/** Checks every byte that counts: whether LMDB reads the file, the checksum of each record and snapshot, and that they belong together. */
export class Inspector {
  readonly #file: DataFile
  readonly #snapshots: string
  readonly #onBytes: (bytes: number) => void
  readonly #indexes = new Map<number, IndexFacts>()
  readonly #findings: Finding[] = []
  #records = 0
  #bytes = 0
  #nextId: number | undefined

  /** @param onBytes told how many bytes were read so far */
  constructor(file: DataFile, onBytes: (bytes: number) => void) {
    this.#file = file
    this.#snapshots = join(dirname(file.path), SNAPSHOT_DIRECTORY)
    this.#onBytes = onBytes
  }

  /** Checks the data file and its snapshots. Raises no error for damage. */
  async run(): Promise<Inspection> {
    this.#readDataFile()
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

  #readDataFile(): void {
    const file = this.#file
    const { format } = file
    if (format === undefined) this.#lose(`${file.path} has no format record`)
    else this.#tryRecord(FORMAT_KEY, format, readFormat)
    this.#readTable('indexes', (key, value) => this.#readDefinition(key, value))
    this.#readTable('log', (key, value) => this.#readLog(key, value))
    this.#readTable('payloads', (key, value) => this.#readSegment(key, value))
    this.#readTable('outcomes', decodeOutcome)
    this.#readTable('snapshots', (key, value) => {
      this.#of(key).pointers.push(decodePointer(key, value))
    })
  }

  #readTable(name: TableName, read: ReadRecord): void {
    try {
      judged(this.#file.path, () => {
        for (const [key, value] of this.#file.entries(name)) this.#tryRecord(key, value, read)
      })
    } catch (thrown) {
      this.#lose(toWarpdexError(thrown).message)
    }
  }

  #tryRecord(key: Buffer, value: Buffer, read: ReadRecord): void {
    this.#count(key.length + value.length)
    try {
      read(key, value)
    } catch (thrown) {
      this.#lose(toWarpdexError(thrown).message)
    }
  }

  #count(bytes: number): void {
    this.#records++
    this.#bytes += bytes
    this.#onBytes(this.#bytes)
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
    try {
      if (facts.relation === undefined) decodeBatch(key, value)
      else decodeAppend(key, value)
    } catch (thrown) {
      facts.badRecords.push({ from: position, to: position, what: toWarpdexError(thrown).message })
    }
  }

  #readSegment(key: Buffer, value: Buffer): void {
    const facts = this.#of(key)
    const { firstRow, count } = parseSegmentKey(key)
    const segment = describeSegment(key)
    if (firstRow < facts.nextRow) throw damaged(`${segment} overlaps with the one before it`)
    facts.nextRow = firstRow + count
    const { offsets } = decodeSegment(key, value)
    if (offsets.length !== count + 1) throw damaged(`${segment} has not the rows that its key says`)
  }

  async #checkSnapshots(): Promise<void> {
    const directory = this.#snapshots
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
    try {
      await SnapshotReader.verify(path, { index, position })
      this.#count(bytes)
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

/** What is said of a data file in which nothing can be read. */
export function lost(what: string): Inspection {
  return { indexes: [], relations: [], records: 0, findings: [{ isLoss: true, what, remedy: FROM_BACKUP }] }
}

type ReadRecord = (key: Buffer, value: Buffer) => unknown

function readFormat(key: Buffer, value: Buffer): void {
  decodeRecord(RecordKind.format, key, value, 'the format record')
}
