import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { constants } from 'node:os'
import { join, sep } from 'node:path'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { DATA_FILE } from './store-files.js'

const { ENOSPC, EDQUOT, EFBIG, EIO } = constants.errno
/** LMDB's code for: no more transactions, after one that could not be ended. */
const MDB_PANIC = -30795
/** LMDB's codes for a page that is not there or not what leads to it says. */
const MDB_DAMAGED = [-30797, -30796]

/** What a transaction needs beside its values: the pages of the trees on the way to them, and lists of free pages. */
const SPARE_BYTES = 1024 * 1024
const PROBE_FILE = 'room.tmp'
const PROBE_BYTES = 64 * 1024

/** What keeps a folder from being used, by the code of the system's error, and what to do about it. */
const CAUSES: Readonly<Record<string, string>> = {
  ENOTDIR: 'it is, or lies in, what is not a folder; name another',
  EEXIST: 'it is not a folder; name another',
  ENOENT: 'no folder can be made there; name another',
  ELOOP: 'its links go round in a circle; name another',
  ENAMETOOLONG: 'its name is too long; name another',
  EACCES: 'this user may not read and write it; give it the right to, or name another',
  EPERM: 'this user may not read and write it; give it the right to, or name another',
  EROFS: 'it is on a file system that nobody may write to; name another',
}

/** What is in the place of a file or folder of a data directory, by the code of the system's error. */
const STRANGE: Readonly<Record<string, string>> = {
  ENOENT: 'it is missing',
  EISDIR: 'it is a folder',
  ENOTDIR: 'it is not a folder',
  ELOOP: 'its links go round in a circle',
}

const FORBIDDEN: Readonly<Record<string, string>> = {
  EACCES: 'this user may not read and write it; give it the right to',
  EPERM: 'this user may not read and write it; give it the right to',
  EROFS: 'it is on a file system that nobody may write to; mount it otherwise',
}

/** What the system did not let be used, which says nothing about what is in it. */
export class Unusable extends WarpdexError {}

/**
 * Why a file or folder of a data directory cannot be used: `DAMAGED_FILE` where it is not there or something else, `BAD_REQUEST` where this
 * user may not, and `INTERNAL` where the disk failed.
 */
export function unusable(path: string, cause: unknown): Unusable {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const about = `${path} cannot be used (${code})`
  if (code in FORBIDDEN) return new Unusable('BAD_REQUEST', `${about}: ${FORBIDDEN[code]}`, { cause })
  if (code in STRANGE) {
    const remedy = 'put the right one back, or bring the data directory back from a backup'
    return new Unusable('DAMAGED_FILE', `${about}: ${STRANGE[code]}; ${remedy}`, { cause })
  }
  return new Unusable('INTERNAL', `${path} cannot be read: ${String(cause)}`, { cause })
}

/** An error of the opening of a data directory; one of the system that the user can mend says how. */
export function directoryError(directory: string, thrown: unknown): unknown {
  if (thrown instanceof WarpdexError || !(thrown instanceof Error) || !('code' in thrown)) return thrown
  const path = 'path' in thrown ? String(thrown.path) : directory
  // Where there is nothing yet, it is the directory in which nothing can be made.
  if (path.startsWith(`${directory}${sep}`) && existsSync(path)) return unusable(path, thrown)
  const cause = CAUSES[String(thrown.code)]
  if (cause === undefined) return thrown
  return badRequest(`${directory} cannot be the data directory (${String(thrown.code)}): ${cause}`, {
    cause: thrown,
  })
}

/**
 * What a failed commit means for its writers.
 *
 * @param directory where the data file lies
 * @param bytes of the values that were to be written
 */
export function commitError(
  cause: unknown,
  directory: string,
  bytes: number,
): { readonly error: WarpdexError; readonly isFinal: boolean } {
  // LMDB takes a write that was cut short, as the first one is for which there is no room, for a failure of the disk.
  if (isLackOfRoom(cause) || (codeOf(cause) === EIO && !hasRoom(directory, bytes))) {
    return { error: diskFull(directory, cause), isFinal: false }
  }
  const code = codeOf(cause)
  if (code !== undefined && MDB_DAMAGED.includes(code))
    return { error: damagedFile(directory, cause), isFinal: false }
  const isFinal = code === MDB_PANIC
  const remedy = isFinal
    ? 'no more writes are taken; mend the disk and restart'
    : 'mend the disk and try again'
  const message = `a commit to ${directory} failed (${String(cause)}), and nothing of it was stored; ${remedy}`
  return { error: new WarpdexError('INTERNAL', message, { cause }), isFinal }
}

function damagedFile(directory: string, cause: unknown): WarpdexError {
  const path = join(directory, DATA_FILE)
  const remedy = 'bring the data directory back from a backup'
  const message = `${path} is damaged (${String(cause)}), and nothing of the commit was stored; ${remedy}`
  return new WarpdexError('DAMAGED_FILE', message, { cause })
}

/** An error of the file system as one that says what it is about. */
export function fileError(cause: unknown, path: string): WarpdexError {
  if (cause instanceof WarpdexError) return cause
  if (isLackOfRoom(cause)) return diskFull(path, cause)
  return new WarpdexError('INTERNAL', `${path} could not be written: ${String(cause)}`, { cause })
}

function diskFull(path: string, cause: unknown): WarpdexError {
  const message = `there is no room for ${path} (${String(cause)}), and nothing was stored; make room and try again`
  return new WarpdexError('DISK_FULL', message, { cause })
}

/** Whether the disk, the user's share of it, or the process's limit of a file's length is used up. */
function isLackOfRoom(cause: unknown): boolean {
  return isRoomErrno(codeOf(cause))
}

/** As `isLackOfRoom`, of the system's number of an error. Not every system has a number for each. */
export function isRoomErrno(errno: number | undefined): boolean {
  return errno !== undefined && [ENOSPC, EDQUOT, EFBIG].includes(errno)
}

/** The system's number of an error. */
function codeOf(cause: unknown): number | undefined {
  if (!(cause instanceof Error)) return undefined
  if ('errno' in cause) return Math.abs(Number(cause.errno))
  return 'code' in cause ? Number(cause.code) : undefined
}

/** Tries whether so many bytes could be added to the data file. */
function hasRoom(directory: string, bytes: number): boolean {
  const path = join(directory, PROBE_FILE)
  try {
    const { bavail, bsize } = statfsSync(directory)
    if (bavail * bsize < bytes * 2 + SPARE_BYTES) return false
    const file = openSync(path, 'w')
    try {
      ftruncateSync(file, statSync(join(directory, DATA_FILE)).size + bytes + SPARE_BYTES)
      writeSync(file, Buffer.alloc(PROBE_BYTES))
      return true
    } finally {
      closeSync(file)
      rmSync(path, { force: true })
    }
  } catch (error) {
    return !isLackOfRoom(error)
  }
}
