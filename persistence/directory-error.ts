import { WarpdexError } from '../protocol/errors.js'

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

/** An error of the opening of a data directory; one of the system that the user can mend says how. */
export function directoryError(directory: string, thrown: unknown): unknown {
  if (thrown instanceof WarpdexError || !(thrown instanceof Error) || !('code' in thrown)) return thrown
  const cause = CAUSES[String(thrown.code)]
  if (cause === undefined) return thrown
  return new WarpdexError(
    'BAD_REQUEST',
    `${directory} cannot be the data directory (${String(thrown.code)}): ${cause}`,
    { cause: thrown },
  )
}
