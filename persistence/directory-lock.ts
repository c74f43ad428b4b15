import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { hostname, constants as system } from 'node:os'
import { join } from 'node:path'
import koffi from 'koffi'
import { WarpdexError } from '../protocol/errors.js'

/** Never removed: two processes could otherwise hold locks on two files of this name, one of them without a name by then. */
export const LOCK_FILE = 'warpdex.lock'

const { O_RDWR, O_CREAT } = constants
/** The same numbers on Linux and macOS. */
const LOCK_EX = 2
const LOCK_NB = 4
/** What libuv calls UV_FS_O_EXLOCK: Windows lets nobody else open the file while it is open. */
const WINDOWS_EXCLUSIVE = 0x10000000

/**
 * Keeps a directory to one process by a lock of the operating system, which ends with the process however that ends, and which
 * holds between containers too, where process numbers say nothing. The file says who has it, for the message only.
 */
export class DirectoryLock {
  /** A plain number, because a `FileHandle` that nobody refers to is closed. */
  readonly #file: number

  private constructor(file: number) {
    this.#file = file
  }

  /** @throws WarpdexError `BAD_REQUEST` when the directory is open already, in this process or another, or cannot be locked */
  static acquire(directory: string): DirectoryLock {
    const file = process.platform === 'win32' ? openExclusively(directory) : openAndLock(directory)
    try {
      const owner = Buffer.from(`${process.pid} on ${hostname()}`)
      writeSync(file, owner, 0, owner.length, 0)
      ftruncateSync(file, owner.length)
      return new DirectoryLock(file)
    } catch (error) {
      closeSync(file)
      throw error
    }
  }

  release(): void {
    closeSync(this.#file)
  }
}

function openAndLock(directory: string): number {
  const path = join(directory, LOCK_FILE)
  const file = openSync(path, O_RDWR | O_CREAT, 0o666)
  const flock = koffi.load(null).func('int flock(int file, int operation)')
  if (flock(file, LOCK_EX | LOCK_NB) === 0) return file
  const cause = koffi.errno()
  closeSync(file)
  if (cause === system.errno.EWOULDBLOCK) throw inUse(directory, readFileSync(path, 'utf8'))
  throw new WarpdexError(
    'BAD_REQUEST',
    `${path} cannot be locked (system error ${cause}); use a data directory on a file system that has locks`,
  )
}

function openExclusively(directory: string): number {
  try {
    return openSync(join(directory, LOCK_FILE), O_RDWR | O_CREAT | WINDOWS_EXCLUSIVE, 0o666)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EBUSY') throw inUse(directory, '')
    throw error
  }
}

/** @param owner may be empty where it cannot be read or is just being written */
function inUse(directory: string, owner: string): WarpdexError {
  const who = owner === '' ? 'another process' : `process ${owner}`
  return new WarpdexError(
    'BAD_REQUEST',
    `${who} has ${directory} open; stop it or use another data directory`,
  )
}
