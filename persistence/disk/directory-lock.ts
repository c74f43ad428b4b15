import { closeSync, constants, existsSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { hostname, constants as system } from 'node:os'
import { join } from 'node:path'
import koffi from 'koffi'
import { badRequest, type WarpdexError } from '../../protocol/errors.js'
import { DATA_FILE } from './store-files.js'

/** Never removed: two processes could otherwise hold locks on two files of this name, one of them without a name by then. */
export const LOCK_FILE = 'warpdex.lock'

const { O_RDWR, O_CREAT } = constants
/** The same numbers on Linux and macOS. */
const LOCK_EX = 2
const LOCK_NB = 4
/** What libuv calls UV_FS_O_EXLOCK: Windows lets nobody else open the file while it is open. */
const WINDOWS_EXCLUSIVE = 0x10000000
const IS_WINDOWS = process.platform === 'win32'

/**
 * Keeps a directory to one process by locks of the operating system, which end with the process however that ends, and which
 * hold between containers too, where process numbers say nothing. The lock's file says who has it, for the message only. The data
 * file is locked as well, since somebody may remove the lock's file, and nobody can do without the data file. LMDB locks only
 * its `lock.mdb`.
 */
export class DirectoryLock {
  readonly #directory: string
  /** Plain numbers, because a `FileHandle` that nobody refers to is closed. */
  readonly #files = new Map<string, number>()

  private constructor(directory: string) {
    this.#directory = directory
  }

  /** @throws WarpdexError `BAD_REQUEST` when the directory is open already, in this process or another, or cannot be locked */
  static acquire(directory: string): DirectoryLock {
    const lock = new DirectoryLock(directory)
    try {
      const file = lock.#take(LOCK_FILE)
      if (existsSync(join(directory, DATA_FILE))) lock.takeDataFile()
      const owner = Buffer.from(`${process.pid} on ${hostname()}`)
      writeSync(file, owner, 0, owner.length, 0)
      ftruncateSync(file, owner.length)
      return lock
    } catch (error) {
      lock.release()
      throw error
    }
  }

  /**
   * Locks the data file of a directory that may be new, and makes it where it is missing. LMDB takes an empty one for new.
   *
   * @throws WarpdexError as `acquire`
   */
  takeDataFile(): void {
    // On Windows nobody can remove the lock's file while it is open, and LMDB could not open a file that is open for one only.
    if (!IS_WINDOWS && !this.#files.has(DATA_FILE)) this.#take(DATA_FILE)
  }

  release(): void {
    for (const file of this.#files.values()) closeSync(file)
    this.#files.clear()
  }

  #take(name: string): number {
    const file = IS_WINDOWS ? openExclusively(this.#directory, name) : openAndLock(this.#directory, name)
    this.#files.set(name, file)
    return file
  }
}

function openAndLock(directory: string, name: string): number {
  const path = join(directory, name)
  const file = openSync(path, O_RDWR | O_CREAT, 0o664)
  const flock = koffi.load(null).func('int flock(int file, int operation)')
  if (flock(file, LOCK_EX | LOCK_NB) === 0) return file
  const cause = koffi.errno()
  closeSync(file)
  if (cause === system.errno.EWOULDBLOCK) {
    throw inUse(directory, readFileSync(join(directory, LOCK_FILE), 'utf8'))
  }
  throw badRequest(
    `${path} cannot be locked (system error ${cause}); use a data directory on a file system that has locks`,
  )
}

function openExclusively(directory: string, name: string): number {
  try {
    return openSync(join(directory, name), O_RDWR | O_CREAT | WINDOWS_EXCLUSIVE, 0o666)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EBUSY') throw inUse(directory, '')
    throw error
  }
}

/** @param owner may be empty where it cannot be read or is just being written */
function inUse(directory: string, owner: string): WarpdexError {
  const who = owner === '' ? 'another process' : `process ${owner}`
  return badRequest(`${who} has ${directory} open; stop it or use another data directory`)
}
