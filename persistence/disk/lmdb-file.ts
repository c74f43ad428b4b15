import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { damaged } from './record.js'

/*
 * The form of LMDB's data file, of data version 2. A page begins with a header of 24 bytes: its number (u64), the transaction that
 * wrote it (u64), u16 unused, flags (u16), and for trees' pages the end of the places (u16) and the begin of the nodes (u16), both
 * counted from the header's end, for overflow pages how many they are (u32). The first two pages are meta pages.
 */
export const PAGE_HEADER = 24
/** Where the fields of a meta page lie. */
const META_BYTES = 160
const MAGIC_AT = 24
const VERSION_AT = 28
const FREE_TABLE_AT = 48
const MAIN_TABLE_AT = 96
const LAST_PAGE_AT = 144
const TRANSACTION_AT = 152

const MAGIC = 0xbeefc0de
const VERSION = 2
const META_FLAG = 0x08
/** The page number that stands for none. */
const NO_PAGE = 2n ** 64n - 1n
const LEAST_PAGE_BYTES = 256
const MOST_PAGE_BYTES = 65_536

/** What LMDB keeps of a tree. */
export interface Table {
  readonly depth: number
  readonly branchPages: number
  readonly leafPages: number
  readonly overflowPages: number
  readonly entries: number
  /** Undefined while the tree is empty. */
  readonly root: number | undefined
}

/** Bytes of a table as it is stored. */
export const TABLE_BYTES = 48

/** The state that a meta page describes. */
interface Meta {
  readonly pageBytes: number
  readonly free: Table
  readonly main: Table
  readonly lastPage: number
  readonly transaction: number
}

/** An LMDB data file that is only read, and by plain reads: LMDB itself crashes the process on one that is damaged. */
export class LmdbFile {
  readonly path: string
  readonly pageBytes: number
  readonly free: Table
  readonly main: Table
  /** Number of the last page in use, as the file says. */
  readonly lastPage: number
  /** The last transaction in the file. */
  readonly transaction: number
  /** Pages that the file has. */
  readonly pages: number
  readonly #file: number

  private constructor(path: string, file: number, size: number, meta: Meta) {
    this.path = path
    this.#file = file
    this.pageBytes = meta.pageBytes
    this.free = meta.free
    this.main = meta.main
    this.lastPage = meta.lastPage
    this.transaction = meta.transaction
    this.pages = Math.floor(size / meta.pageBytes)
  }

  /**
   * @returns undefined when there is no file or an empty one, which LMDB takes for new
   * @throws WarpdexError `DAMAGED_FILE` when the file is none of LMDB's
   */
  static open(path: string): LmdbFile | undefined {
    if (!existsSync(path)) return undefined
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      if (size > 0) return new LmdbFile(path, file, size, newestMeta(file, path))
    } catch (error) {
      closeSync(file)
      throw error
    }
    closeSync(file)
    return undefined
  }

  /** Reads bytes from a page's begin on into a buffer, as many as it has. */
  readPage(page: number, into: Buffer, offset = 0): void {
    const at = page * this.pageBytes + offset
    if (readSync(this.#file, into, 0, into.length, at) === into.length) return
    throw cutOff(this.path, page)
  }

  close(): void {
    closeSync(this.#file)
  }
}

export function readTable(bytes: Buffer, at: number): Table {
  const root = bytes.readBigUInt64LE(at + 40)
  return {
    depth: bytes.readUInt16LE(at + 6),
    branchPages: Number(bytes.readBigUInt64LE(at + 8)),
    leafPages: Number(bytes.readBigUInt64LE(at + 16)),
    overflowPages: Number(bytes.readBigUInt64LE(at + 24)),
    entries: Number(bytes.readBigUInt64LE(at + 32)),
    root: root === NO_PAGE ? undefined : Number(root),
  }
}

/**
 * The state of the last transaction. Transactions take turns with the two meta pages, so that the numbers in these are neighbours,
 * or 0 in one that was not written yet: else one of them is damaged, and nobody knows which is the last.
 */
function newestMeta(file: number, path: string): Meta {
  const even = readMeta(file, path, 0, 0)
  const odd = readMeta(file, path, 1, even.pageBytes)
  const newest = odd.transaction > even.transaction ? odd : even
  const isSound =
    even.transaction === 0
      ? odd.transaction === 0 || odd.transaction % 2 === 1
      : even.transaction % 2 === 0 && Math.abs(odd.transaction - even.transaction) === 1
  if (!isSound) throw noLmdbFile(path)
  return newest
}

function readMeta(file: number, path: string, page: number, at: number): Meta {
  const bytes = Buffer.alloc(META_BYTES)
  const whole = readSync(file, bytes, 0, META_BYTES, at) === META_BYTES
  const isMeta =
    bytes.readBigUInt64LE(0) === BigInt(page) &&
    bytes.readUInt16LE(18) === META_FLAG &&
    bytes.readUInt32LE(MAGIC_AT) === MAGIC &&
    (bytes.readUInt32LE(VERSION_AT) & 0xffff) === VERSION
  const pageBytes = bytes.readUInt32LE(FREE_TABLE_AT)
  const isPageSize =
    pageBytes >= LEAST_PAGE_BYTES && pageBytes <= MOST_PAGE_BYTES && Number.isInteger(Math.log2(pageBytes))
  if (!whole || !isMeta || !isPageSize) throw noLmdbFile(path)
  return {
    pageBytes,
    free: readTable(bytes, FREE_TABLE_AT),
    main: readTable(bytes, MAIN_TABLE_AT),
    lastPage: Number(bytes.readBigUInt64LE(LAST_PAGE_AT)),
    transaction: Number(bytes.readBigUInt64LE(TRANSACTION_AT)),
  }
}

export function cutOff(path: string, page: number): Error {
  return damaged(`${path} is cut off: page ${page} is missing; bring the data directory back from a backup`)
}

function noLmdbFile(path: string): Error {
  return damaged(`${path} is damaged or no LMDB file; bring the data directory back from a backup`)
}
