import { cutOff, type LmdbFile, PAGE_HEADER, readTable, TABLE_BYTES, type Table } from './lmdb-file.js'
import { damaged } from './record.js'

const BRANCH = 0x01
const LEAF = 0x02
const OVERFLOW = 0x04

/** A node: size of its data or number of its child (u32), flags or upper bits of that number (u16), length of the key (u16), both. */
const NODE_HEADER = 8
const BIG_DATA = 0x01
const SUB_TABLE = 0x02
/** Of data on overflow pages: number of the first page, transaction, pages, each u64. */
const BIG_DATA_BYTES = 24
/** More levels than a tree can have. */
const MOST_LEVELS = 32

/** One key of a table. All views are into a buffer that the next entry reuses. */
export interface LmdbEntry {
  readonly key: Buffer
  /** Bytes of the value. */
  readonly size: number
  /** The value where it lies beside the key; undefined where it has pages of its own. */
  readonly inline: Buffer | undefined
  /** The value, wherever it is. */
  value(): Buffer
}

export type EntryVisitor = (table: string, entry: LmdbEntry) => void

export interface WalkOptions {
  /** Whether the heads of the pages are checked that large values have of their own, which takes a read each. */
  readonly overflowPages?: boolean
}

interface WalkCounts {
  branchPages: number
  leafPages: number
  overflowPages: number
  entries: number
}

interface Bounds {
  /** Least key that may be in a page; undefined where nothing bounds it. */
  readonly low: Buffer | undefined
  /** Key that is above all of the page. */
  readonly high: Buffer | undefined
}

/**
 * Walks through all trees of an LMDB file and checks on the way whatever LMDB takes for granted: that each page is what its
 * parent says and is used once, that keys are in order, that sizes fit, that the trees have as many pages and entries as is
 * written, and that no free page is in use.
 */
export class LmdbWalk {
  readonly #file: LmdbFile
  readonly #visit: EntryVisitor
  readonly #checkOverflow: boolean
  /** A bit a page: whether something refers to it. */
  readonly #used: Uint8Array
  readonly #levels: Buffer[] = []

  private constructor(file: LmdbFile, visit: EntryVisitor, { overflowPages = false }: WalkOptions) {
    this.#file = file
    this.#visit = visit
    this.#checkOverflow = overflowPages
    if (file.lastPage >= 2 ** 40) throw this.#damage(`its last page is said to be ${file.lastPage}`)
    const pages = Math.max(2, Math.min(file.pages, file.lastPage + 1))
    this.#used = new Uint8Array(Math.ceil(pages / 8))
    this.#use(0, 2)
  }

  /**
   * Walks in steps of a page each, so that other work may go on between them.
   *
   * @param visit is called with each entry of each named table, in the order of the keys; it must not keep what it is given
   * @throws WarpdexError `DAMAGED_FILE`
   */
  static *steps(file: LmdbFile, visit: EntryVisitor, options: WalkOptions = {}): Generator<void, void> {
    const walk = new LmdbWalk(file, visit, options)
    yield* walk.#walkMain()
    yield* walk.#walkFree()
  }

  *#walkMain(): Generator<void, void> {
    const tables: [string, Table][] = []
    yield* this.#walkTable('main', this.#file.main, (entry, flags) => {
      if ((flags & SUB_TABLE) === 0) {
        this.#visit('', entry)
        return
      }
      if (entry.size !== TABLE_BYTES) throw this.#damage('the record of a table has a wrong size')
      tables.push([entry.key.toString('latin1').replace(/\0$/, ''), readTable(entry.value(), 0)])
    })
    for (const [name, table] of tables) {
      yield* this.#walkTable(name, table, (entry, flags) => {
        if ((flags & SUB_TABLE) !== 0) throw this.#damage(`an entry of ${name} is said to be a table`)
        this.#visit(name, entry)
      })
    }
  }

  /** The pages that LMDB is going to use again: lists of numbers, where a negative one is the length of a row that begins at the next. */
  *#walkFree(): Generator<void, void> {
    const lists: Buffer[] = []
    yield* this.#walkTable('free pages', this.#file.free, ({ value }) => lists.push(Buffer.from(value())))
    for (const list of lists) {
      const count = list.length < 8 ? -1 : Number(list.readBigUInt64LE(0))
      if (count < 0 || (count + 1) * 8 > list.length) throw this.#damage('a list of free pages is too short')
      let row = 1
      for (let i = 1; i <= count; i++) {
        const word = Number(list.readBigInt64LE(i * 8))
        if (word < 0) row = -word
        else if (word > 0) {
          this.#useFree(word, row)
          row = 1
        }
      }
    }
  }

  #useFree(first: number, count: number): void {
    if (first + count - 1 > this.#file.lastPage)
      throw this.#damage(`page ${first} is free but past the last one`)
    // The file may end before the last page where those at the end are free.
    const there = Math.min(first + count, this.#used.length * 8) - first
    if (there > 0) this.#use(first, there)
  }

  *#walkTable(name: string, table: Table, visit: NodeVisitor): Generator<void, void> {
    const counts: WalkCounts = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 }
    if (table.depth > MOST_LEVELS)
      throw this.#damage(`the tree of ${name} is said to have ${table.depth} levels`)
    if (table.root !== undefined) {
      const inOrder = name === 'free pages' ? compareNumbers : Buffer.compare
      const walk = { name, levels: table.depth, counts, visit, inOrder }
      yield* this.#walkPage(walk, table.root, 1, { low: undefined, high: undefined })
    }
    for (const field of ['branchPages', 'leafPages', 'overflowPages', 'entries'] as const) {
      if (counts[field] !== table[field])
        throw this.#damage(`the tree of ${name} has ${counts[field]} ${WORDS[field]}, not ${table[field]}`)
    }
  }

  *#walkPage(walk: TreeWalk, number: number, level: number, { low, high }: Bounds): Generator<void, void> {
    this.#use(number, 1)
    this.#levels[level] ??= Buffer.alloc(this.#file.pageBytes)
    const page = this.#levels[level]
    this.#file.readPage(number, page)
    const isLeaf = level === walk.levels
    const nodes = this.#checkHeader(page, number, isLeaf ? LEAF : BRANCH)
    walk.counts[isLeaf ? 'leafPages' : 'branchPages']++
    let previous = low
    for (let i = 0; i < nodes; i++) {
      const at = this.#nodeAt(page, number, i)
      const key = page.subarray(at + NODE_HEADER, at + NODE_HEADER + page.readUInt16LE(at + 6))
      // The first key of a branch stands for all that is less than the second, and is empty.
      if (isLeaf || i > 0) {
        const order = previous === undefined ? 1 : walk.inOrder(key, previous)
        if (order < 0 || (order === 0 && i > 0) || (high !== undefined && walk.inOrder(key, high) >= 0))
          throw this.#damage(`the keys of page ${number} of ${walk.name} are not in order`)
        previous = key
      }
      if (isLeaf) this.#visitNode(walk, page, number, at, key)
      else {
        const next = i + 1 < nodes ? this.#keyAt(page, number, i + 1) : high
        const child = page.readUInt32LE(at) + page.readUInt16LE(at + 4) * 2 ** 32
        yield* this.#walkPage(walk, child, level + 1, { low: i === 0 ? low : key, high: next })
      }
    }
    yield
  }

  #visitNode(walk: TreeWalk, page: Buffer, number: number, at: number, key: Buffer): void {
    const size = page.readUInt32LE(at)
    const flags = page.readUInt16LE(at + 4)
    const start = at + NODE_HEADER + key.length
    walk.counts.entries++
    if ((flags & BIG_DATA) === 0) {
      if (start + size > page.length)
        throw this.#damage(`an entry of page ${number} of ${walk.name} is too long`)
      const inline = page.subarray(start, start + size)
      walk.visit({ key, size, inline, value: () => inline }, flags)
      return
    }
    if (start + BIG_DATA_BYTES > page.length)
      throw this.#damage(`an entry of page ${number} of ${walk.name} is too long`)
    const first = Number(page.readBigUInt64LE(start))
    const pages = Number(page.readBigUInt64LE(start + 16))
    if (pages !== Math.floor((PAGE_HEADER - 1 + size) / this.#file.pageBytes) + 1)
      throw this.#damage(`a value of ${walk.name} has a wrong number of pages`)
    this.#use(first, pages)
    walk.counts.overflowPages += pages
    if (this.#checkOverflow) this.#checkOverflowPage(first, pages)
    const value = () => {
      const bytes = Buffer.allocUnsafe(size)
      this.#file.readPage(first, bytes, PAGE_HEADER)
      return bytes
    }
    walk.visit({ key, size, inline: undefined, value }, flags)
  }

  #checkOverflowPage(first: number, pages: number): void {
    const header = Buffer.alloc(PAGE_HEADER)
    this.#file.readPage(first, header)
    const isSound =
      header.readBigUInt64LE(0) === BigInt(first) &&
      header.readUInt16LE(18) === OVERFLOW &&
      header.readUInt32LE(20) === pages
    if (!isSound) throw this.#damage(`page ${first} is not the value that it should be`)
  }

  /** @returns how many nodes the page has */
  #checkHeader(page: Buffer, number: number, kind: number): number {
    const lower = page.readUInt16LE(20)
    const upper = page.readUInt16LE(22)
    const isSound =
      page.readBigUInt64LE(0) === BigInt(number) &&
      Number(page.readBigUInt64LE(8)) <= this.#file.transaction &&
      page.readUInt16LE(18) === kind &&
      lower % 2 === 0 &&
      lower > 0 &&
      lower <= upper &&
      upper <= page.length - PAGE_HEADER
    if (!isSound) throw this.#damage(`page ${number} is not the page of a tree that it should be`)
    return lower / 2
  }

  /** Where a node begins, whose header and key lie within the page. */
  #nodeAt(page: Buffer, number: number, node: number): number {
    const place = page.readUInt16LE(PAGE_HEADER + node * 2)
    const at = PAGE_HEADER + place
    const fits =
      place >= page.readUInt16LE(22) &&
      at + NODE_HEADER <= page.length &&
      at + NODE_HEADER + page.readUInt16LE(at + 6) <= page.length
    if (!fits) throw this.#damage(`page ${number} has an entry outside of it`)
    return at
  }

  #keyAt(page: Buffer, number: number, node: number): Buffer {
    const at = this.#nodeAt(page, number, node)
    return page.subarray(at + NODE_HEADER, at + NODE_HEADER + page.readUInt16LE(at + 6))
  }

  #use(first: number, count: number): void {
    const pages = Math.min(this.#file.pages, this.#file.lastPage + 1)
    if (first + count > pages) throw cutOff(this.#file.path, first + count - 1)
    for (let page = first; page < first + count; page++) {
      if ((this.#used[page >> 3] & (1 << (page & 7))) !== 0) throw this.#damage(`page ${page} is used twice`)
      this.#used[page >> 3] |= 1 << (page & 7)
    }
  }

  #damage(what: string): Error {
    return damaged(`${this.#file.path} is damaged: ${what}; bring the data directory back from a backup`)
  }
}

type NodeVisitor = (entry: LmdbEntry, flags: number) => void

interface TreeWalk {
  readonly name: string
  readonly levels: number
  readonly counts: WalkCounts
  readonly visit: NodeVisitor
  readonly inOrder: (a: Buffer, b: Buffer) => number
}

const WORDS = {
  branchPages: 'branch pages',
  leafPages: 'leaf pages',
  overflowPages: 'overflow pages',
  entries: 'entries',
} as const

function compareNumbers(a: Buffer, b: Buffer): number {
  if (a.length !== 8 || b.length !== 8) return a.length - b.length
  const difference = a.readBigUInt64LE(0) - b.readBigUInt64LE(0)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
