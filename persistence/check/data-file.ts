import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { WarpdexError } from '../../protocol/errors.js'
import { unusable } from '../disk/errors.js'
import { damaged } from '../disk/record.js'
import { DATA_FILE, ENCODING, FORMAT_KEY, REPLICA_KEY, TABLES, type TableName } from '../disk/store-files.js'

/** Where LMDB keeps the number of a transaction in each of its two meta pages. */
const TRANSACTION_AT = 152
/** LMDB's codes for failures that say nothing about the file: too many readers, too large for the address space. */
const NOT_DAMAGE = new Set([-30790, -30785])

/** A key of a table, and its value: a view that holds until the next one is read. */
export type Entry = readonly [key: Buffer, value: Buffer]

/**
 * A data file as LMDB reads it. LMDB takes what it reads for granted: on a damaged file it may give an error, find less than there is, or
 * crash, so only a process that may crash opens a file in this way (`checker.ts`).
 */
export class DataFile {
  readonly path: string
  /** Whether the file is as long as LMDB says; it may be shorter where only free pages lie at its end. */
  readonly isWhole: boolean
  readonly #root: RootDatabase<Buffer, Buffer>
  /** Undefined until one is asked for. */
  #tables: ReadonlyMap<TableName, Database<Buffer, Buffer>> | undefined

  private constructor(path: string, root: RootDatabase<Buffer, Buffer>) {
    this.path = path
    this.#root = root
    const { lastPageNumber, pageSize } = Object(root.getStats())
    this.isWhole = statSync(path).size >= (Number(lastPageNumber) + 1) * Number(pageSize)
    this.#requireLastTransaction(Number(pageSize))
  }

  /**
   * @param directory the data directory or backup that it belongs to
   * @param place where LMDB finds it
   * @throws WarpdexError `DAMAGED_FILE`, or what else keeps it from being opened
   */
  static open(directory: string, place: string): DataFile {
    const path = join(directory, DATA_FILE)
    return judged(path, () => {
      if (!existsSync(path) || statSync(path).size === 0) throw damaged(`${path} is missing or empty`)
      closeSync(openSync(path, 'r'))
      const root = open<Buffer, Buffer>({ ...ENCODING, path: place, noSubdir: false, readOnly: true })
      return new DataFile(path, root)
    })
  }

  /** The format record; undefined in a file without any records. */
  get format(): Buffer | undefined {
    return this.#root.getBinary(FORMAT_KEY)
  }

  /**
   * All entries of a table, in the order of their keys.
   * @throws WarpdexError `DAMAGED_FILE` where the table is not in order, or has not as many as it should have
   */
  *entries(name: TableName): Generator<Entry> {
    const table = this.#table(name)
    if (table === undefined) return
    let count = 0
    let previous: Buffer | undefined
    for (const key of table.getKeys({ snapshot: true })) {
      if (previous !== undefined && Buffer.compare(previous, key) >= 0)
        throw this.damage(`the keys of ${name} are not in order`)
      const found = table.getBinaryFast(key)
      if (found === undefined) throw this.damage(`${name} has a key that cannot be found`)
      count++
      previous = key
      // Small values lie in a larger buffer, of which only `length` tells how much counts.
      yield [key, Buffer.from(found.buffer, found.byteOffset, found.length)]
    }
    const { entryCount } = Object(table.getStats())
    if (count !== entryCount) throw this.damage(`${name} has ${count} entries, not ${entryCount}`)
  }

  /** The value of a key. */
  read(name: TableName, key: Buffer): Buffer {
    const value = this.#table(name)?.getBinary(key)
    if (value === undefined) throw this.damage(`${name} has a key that cannot be found`)
    return value
  }

  async close(): Promise<void> {
    await this.#root.close()
  }

  /**
   * Transactions take turns with the two meta pages, so that the numbers in these are neighbours, or 0 in one that was not written yet. Else
   * one of them is damaged, and LMDB may take the one before the last for the last.
   */
  #requireLastTransaction(pageSize: number): void {
    const file = openSync(this.path, 'r')
    try {
      const bytes = Buffer.alloc(16)
      readSync(file, bytes, 0, 8, TRANSACTION_AT)
      readSync(file, bytes, 8, 8, pageSize + TRANSACTION_AT)
      const [even, odd] = [bytes.readBigUInt64LE(0), bytes.readBigUInt64LE(8)]
      const isSound =
        even === 0n
          ? odd === 0n || odd % 2n === 1n
          : even % 2n === 0n && (odd === even + 1n || odd === even - 1n)
      if (!isSound) throw this.damage('nobody can tell which transaction is the last')
      if (fstatSync(file).size < 2 * pageSize) throw this.damage('it has no two pages')
    } finally {
      closeSync(file)
    }
  }

  #table(name: TableName): Database<Buffer, Buffer> | undefined {
    this.#tables ??= this.#openTables()
    return this.#tables.get(name)
  }

  #openTables(): ReadonlyMap<TableName, Database<Buffer, Buffer>> {
    // LMDB's binding ends names of tables with a zero.
    const names = [...this.#root.getKeys()]
      .filter((key) => !key.equals(FORMAT_KEY) && !key.equals(REPLICA_KEY))
      .map((key) => key.toString('latin1').replace(/\0$/, ''))
    if (names.length > 0 && this.format === undefined)
      throw damaged(`${this.path} is the data file of another program`)
    const tables = new Map<TableName, Database<Buffer, Buffer>>()
    for (const name of names) {
      const known = TABLES.find((table) => table === name)
      if (known === undefined) throw this.damage(`it has a table ${JSON.stringify(name)}, which is not known`)
      const table: Database<Buffer, Buffer> | undefined = this.#root.openDB<Buffer, Buffer>(name, ENCODING)
      if (table === undefined) throw this.damage(`its table ${name} cannot be opened`)
      tables.set(known, table)
    }
    return tables
  }

  /** What is said of a file in which something is wrong. */
  damage(what: string): WarpdexError {
    return damaged(`${this.path} is damaged: ${what}; bring the data directory back from a backup`)
  }
}

/**
 * Runs what reads a data file with LMDB, and says of its errors whether they are damage.
 * @throws WarpdexError `DAMAGED_FILE`, or as `unusable` where the system refused something
 */
export function judged<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof WarpdexError) throw error
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (typeof code === 'string' || Number(code) > 0 || NOT_DAMAGE.has(Number(code)))
      throw unusable(path, error)
    throw unreadable(path, error)
  }
}

/** What is said of a file on which LMDB fails. */
function unreadable(path: string, cause: unknown): WarpdexError {
  return damaged(
    `${path} is damaged or no LMDB file (${String(cause)}); bring the data directory back from a backup`,
    cause,
  )
}
