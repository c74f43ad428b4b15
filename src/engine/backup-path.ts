import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'

const NAME = /^[a-z0-9][a-z0-9._-]*$/i

/**
 * Where a backup goes. Whoever may ask for one names a folder within the one that the server's owner has named, and no other path
 * of the host.
 *
 * @param directory the folder of backups
 * @param name by default it tells the time
 * @throws WarpdexError `BAD_REQUEST`
 */
export function backupPath(directory: string | undefined, name = timeName()): string {
  if (directory === undefined) {
    throw new WarpdexError(
      'BAD_REQUEST',
      'the server makes no backups, because it has no folder for them; start it with --backup-directory',
    )
  }
  if (!NAME.test(name) || name.length > LIMITS.backupNameLength) {
    throw new WarpdexError(
      'BAD_REQUEST',
      `a backup's name has 1 to ${LIMITS.backupNameLength} letters, digits, dots, dashes and underscores, and begins with a letter or digit`,
    )
  }
  const fault = backupFolderFault(directory)
  if (fault === undefined) return join(resolve(directory), name)
  throw new WarpdexError('BAD_REQUEST', fault)
}

/** Why backups cannot go to a folder; undefined where they can. */
export function backupFolderFault(directory: string): string | undefined {
  const folder = resolve(directory)
  if (existsSync(folder) && statSync(folder).isDirectory()) return undefined
  return `the folder of backups, ${folder}, does not exist; make it first`
}

function timeName(): string {
  return `warpdex-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}Z`
}
