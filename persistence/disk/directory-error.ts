import { existsSync } from 'node:fs'
import { sep } from 'node:path'
import { WarpdexError } from '../../protocol/errors.js'

/** What keeps a folder from being used, by the code of the system's error, and what to do about it. */
const CAUSES: Readonly<Record<string, string>> = {
  ENOTDIR: 'it is, or lies in, what is no folder; name another',
  EEXIST: 'it is no folder; name another',
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
  ENOTDIR: 'it is no folder',
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
  return new WarpdexError(
    'BAD_REQUEST',
    `${directory} cannot be the data directory (${String(thrown.code)}): ${cause}`,
    { cause: thrown },
  )
}
