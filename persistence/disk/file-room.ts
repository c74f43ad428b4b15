import { closeSync, fstatSync, openSync, statfsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import koffi from 'koffi'
import type { RootDatabase } from 'lmdb'
import type { Change } from './committer.js'
import { isRoomErrno } from './errors.js'
import { PAGE_HEADER } from './lmdb-file.js'
import { DATA_FILE } from './store-files.js'

const MIB = 1024 * 1024

/** Values from a third of a page on have pages of their own. */
const INLINE_SHARE = 3
/** Pages of trees that a change copies: a leaf and what is above it, or for a removal, which has neighbours, a leaf at most. */
const PAGES_PER_VALUE = 3
const PAGES_PER_REMOVAL = 1
/** Lists of free pages, and the records of the tables. */
const SPARE_PAGES = 64
/** What is added at a time: an eighth of what there is, so that it is not asked for often. */
const LEAST_STEP = MIB
const MOST_STEP = 64 * MIB
/** Free bytes without which nothing is written where room cannot be set aside: pages are copied there when they are written. */
const MARGIN = 16 * MIB
/** Btrfs and ZFS. */
const COPY_ON_WRITE = new Set([0x9123683e, 0x2fc12fc1])

/**
 * Sets room on disk aside for a transaction before LMDB writes it. LMDB may crash the process when a write finds no room, and
 * whoever waits for room had better learn it before anything is done.
 */
export class FileRoom {
  readonly #directory: string
  readonly #root: RootDatabase<Buffer, Buffer>
  readonly #file: number
  readonly #allocate = fallocate()
  #bytes: number

  constructor(root: RootDatabase<Buffer, Buffer>, directory: string) {
    this.#root = root
    this.#directory = directory
    this.#file = openSync(join(directory, DATA_FILE), 'r+')
    this.#bytes = 0
  }

  /** @throws Error with an `errno` when there is no room for the changes */
  provide(changes: readonly Change[]): void {
    const { pageSize, lastPageNumber } = statsOf(this.#root)
    const end = (lastPageNumber + 1 + pagesOf(changes, pageSize)) * pageSize
    if (end > this.#bytes) this.#extend(end)
  }

  close(): void {
    closeSync(this.#file)
  }

  #extend(end: number): void {
    const { size } = fstatSync(this.#file)
    const step = Math.min(MOST_STEP, Math.max(LEAST_STEP, Math.floor(size / 8 / MIB) * MIB))
    const errno = this.#setAside(end + step)
    if (errno === 0) this.#bytes = end + step
    // What is asked for beyond the need may be too much.
    else if (isRoomErrno(errno) && this.#setAside(end) === 0) this.#bytes = end
    else if (isRoomErrno(errno)) throw noRoom(errno)
    else this.#requireFree(end - size)
  }

  /** Sets everything aside up to an end, holes included. @returns 0, or the system's number of the error */
  #setAside(end: number): number {
    if (this.#allocate === undefined || this.#isCopyOnWrite()) return -1
    return this.#allocate(this.#file, 0, 0, end) === 0 ? 0 : koffi.errno()
  }

  #isCopyOnWrite(): boolean {
    return COPY_ON_WRITE.has(statfsSync(this.#directory).type)
  }

  #requireFree(bytes: number): void {
    const { bavail, bsize } = statfsSync(this.#directory)
    if (bavail * bsize < Math.max(0, bytes) + MARGIN) throw noRoom(constants.errno.ENOSPC)
  }
}

function statsOf(root: RootDatabase<Buffer, Buffer>): { pageSize: number; lastPageNumber: number } {
  const { pageSize, lastPageNumber } = Object(root.getStats())
  return { pageSize: Number(pageSize), lastPageNumber: Number(lastPageNumber) }
}

/** Pages that changes take at most. */
function pagesOf(changes: readonly Change[], pageBytes: number): number {
  let pages = SPARE_PAGES
  for (const { value } of changes) {
    pages += value === undefined ? PAGES_PER_REMOVAL : PAGES_PER_VALUE
    if (value !== undefined && value.length > pageBytes / INLINE_SHARE)
      pages += Math.ceil((value.length + PAGE_HEADER) / pageBytes)
  }
  return pages
}

function noRoom(errno: number): Error {
  return Object.assign(new Error('no room is left on the disk, or for this user or file'), { errno })
}

type Allocate = (file: number, mode: number, offset: number, length: number) => number

/** Linux only. */
function fallocate(): Allocate | undefined {
  if (process.platform !== 'linux') return undefined
  return koffi.load(null).func('int fallocate(int file, int mode, int64_t offset, int64_t length)')
}
