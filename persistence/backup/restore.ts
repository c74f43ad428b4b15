import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { badRequest } from '../../protocol/errors.js'
import { inspect } from '../check/checker.js'
import type { Finding, Inspection } from '../check/inspection.js'
import {
  holdsStore,
  lockStore,
  makeDirectory,
  markAsStore,
  removeStore,
  syncDirectory,
} from '../disk/data-directory.js'
import { DirectoryLock } from '../disk/directory-lock.js'
import { directoryError, fileError } from '../disk/errors.js'
import { damaged } from '../disk/record.js'
import { DATA_FILE, SNAPSHOT_DIRECTORY, UNFINISHED_FILE } from '../disk/store-files.js'
import { type BackupOptions, sizeOf } from './backup.js'
import { type BackupManifest, isBackup, readManifest } from './backup-manifest.js'
import { type CopyOptions, copyChecked } from './checked-copy.js'

/** What a check has found in a data directory or a backup. */
export interface Verification extends Inspection {
  /** Only of a backup. */
  readonly manifest?: BackupManifest
}

export interface RestoreOptions extends BackupOptions {
  /** Whether it takes the place of what the directory holds, which is removed once the backup is found to be whole. */
  readonly replaces?: boolean
}

/** What a damaged backup is good for. */
const OTHER_BACKUP = 'use another backup'

/**
 * Checks a backup, or a data directory that no server has open, down to each record.
 *
 * @throws WarpdexError `BAD_REQUEST` when a process has the directory open, or this user may not read it, `DAMAGED_FILE` when it is neither, or the manifest is damaged
 */
export async function verify(path: string, { onProgress, stop }: BackupOptions = {}): Promise<Verification> {
  const directory = resolve(path)
  if (!existsSync(directory)) throw badRequest(`${directory} does not exist`)
  if (isBackup(directory)) return verifyBackup(directory, { onProgress, stop })
  const lock = await lockStore(directory)
  if (lock === undefined) {
    throw badRequest(`${directory} holds neither data of warpdex nor a backup`)
  }
  try {
    const total = sizeOf(join(directory, DATA_FILE)) + sizeOf(join(directory, SNAPSHOT_DIRECTORY))
    const progress = (bytes: number) => onProgress?.({ done: Math.min(bytes, total), total })
    return await inspect(directory, { onProgress: progress, stop })
  } catch (error) {
    throw directoryError(directory, error)
  } finally {
    lock.release()
  }
}

async function verifyBackup(directory: string, { onProgress, stop }: BackupOptions): Promise<Verification> {
  const manifest = readManifest(directory)
  const total = manifest.files.reduce((sum, { bytes }) => sum + bytes * 2, 0)
  let done = 0
  const onBytes = (bytes: number): void => {
    done += bytes
    onProgress?.({ done, total })
  }
  const findings: Finding[] = []
  for (const { path, bytes, sha256 } of manifest.files) {
    const what = join(directory, path)
    const found = await copyChecked(what, undefined, { onBytes, stop }).catch((error: unknown) => {
      stop?.throwIfAborted()
      return String(error)
    })
    if (typeof found === 'string') {
      findings.push({ isLoss: true, what: `${what} cannot be read: ${found}`, remedy: OTHER_BACKUP })
    } else if (found.bytes !== bytes || found.sha256 !== sha256) {
      findings.push({ isLoss: true, what: `${what} does not match its checksum`, remedy: OTHER_BACKUP })
    }
  }
  const checked = done
  const inspection = await inspect(directory, {
    onProgress: (bytes) => onProgress?.({ done: Math.min(checked + bytes, total), total }),
    stop,
  })
  return { ...inspection, findings: [...findings, ...inspection.findings], manifest }
}

/**
 * Makes a data directory from a backup, after a check of all that is in it. The directory counts as one only when everything is
 * there and durable.
 *
 * @param directory is missing or empty, unless its contents are to be replaced
 * @throws WarpdexError `BAD_REQUEST` when there is something in the directory, `DAMAGED_FILE` when the backup is not whole
 */
export async function restoreBackup(
  source: string,
  directory: string,
  { onProgress, stop, replaces = false }: RestoreOptions = {},
): Promise<BackupManifest> {
  const from = resolve(source)
  const to = resolve(directory)
  if (!replaces) await requireEmpty(to)
  const manifest = readManifest(from)
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0)
  const total = bytes * 3
  const { findings } = await verifyBackup(from, {
    onProgress: ({ done }) => onProgress?.({ done, total }),
    stop,
  })
  const loss = findings.find(({ isLoss }) => isLoss)
  if (loss !== undefined) throw damaged(`the backup is not whole: ${loss.what}; ${OTHER_BACKUP}`)
  await makeDirectory(to)
  const lock = DirectoryLock.acquire(to)
  try {
    // The check may have taken long. What has come meanwhile is somebody else's, and stays.
    if (replaces) await removeStore(to)
    else await requireEmpty(to)
    let done = bytes * 2
    const onBytes = (read: number): void => {
      done += read
      onProgress?.({ done, total })
    }
    await copyAll(manifest, from, to, { onBytes, stop })
    return manifest
  } finally {
    lock.release()
  }
}

/** Copies the files of a backup into an empty directory, which counts as one that holds data once all are there. */
async function copyAll(
  manifest: BackupManifest,
  from: string,
  to: string,
  options: CopyOptions,
): Promise<void> {
  try {
    for (const { path, sha256 } of manifest.files) {
      const target = join(to, path)
      await mkdir(dirname(target), { recursive: true })
      const copied = await copyChecked(join(from, path), target, options)
      await syncDirectory(dirname(target))
      if (copied.sha256 !== sha256) throw damaged(`${join(from, path)} changed while it was read; try again`)
    }
    await markAsStore(to)
    await rm(join(to, UNFINISHED_FILE), { force: true })
  } catch (error) {
    for (const name of [DATA_FILE, SNAPSHOT_DIRECTORY, UNFINISHED_FILE])
      await rm(join(to, name), { recursive: true, force: true })
    options.stop?.throwIfAborted()
    throw fileError(error, to)
  }
}

async function requireEmpty(directory: string): Promise<void> {
  if (await holdsStore(directory)) {
    throw badRequest(
      `${directory} holds data already, which a restoration would replace; name a folder that is empty or not there`,
    )
  }
}
