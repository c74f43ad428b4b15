import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { badRequest } from '../../protocol/errors.js'
import { inspect, snapshotsNamed } from '../check/checker.js'
import type { Finding, InspectedIndex, InspectedRelation, Inspection } from '../check/inspection.js'
import { lockStore, syncDirectory } from '../disk/data-directory.js'
import { DirectoryLock, LOCK_FILE } from '../disk/directory-lock.js'
import { fileError } from '../disk/errors.js'
import { damaged } from '../disk/record.js'
import { DATA_FILE, SNAPSHOT_DIRECTORY, UNFINISHED_FILE } from '../disk/store-files.js'
import {
  type BackupEntry,
  type BackupFile,
  type BackupManifest,
  newManifest,
  writeManifest,
} from './backup-manifest.js'
import { type CopyOptions, copyChecked, syncFile } from './checked-copy.js'

/** How far a backup, a restoration or a check is, in bytes. */
export interface BytesDone {
  readonly done: number
  /** What `done` is going to reach, as far as that is known. */
  readonly total: number
}

export interface BackupOptions {
  readonly onProgress?: ((progress: BytesDone) => void) | undefined
  /** Gives it up, with the signal's reason, once it is aborted. */
  readonly stop?: AbortSignal | undefined
}

export interface WrittenBackup {
  readonly path: string
  readonly bytes: number
  readonly manifest: BackupManifest
  /** What is wrong with the data, but does not keep it from being restored whole. */
  readonly findings: readonly Finding[]
}

/** What a backup is made of. */
export interface BackupSource {
  /** The data directory. */
  readonly directory: string
  /** Puts a copy of the data file, of one moment, into a folder. */
  copyDataFile(folder: string, options: CopyOptions): Promise<void>
}

/** What is copied is read three times over: by the copy, for the checksum, and for the check of the records. */
const PASSES = 3

/** Ends the name of the folder in which a backup is made. */
const DRAFT_SUFFIX = '.partial'

/**
 * Makes a backup: a new folder that holds a data file, the snapshots that it names, and a manifest with their checksums. It is
 * made aside and checked, record by record, before it gets its name, so that whatever bears the name is whole.
 *
 * @param destination a folder that is missing, or empty; its parent must exist
 * @throws WarpdexError `BAD_REQUEST` for a destination that does not do, `DAMAGED_FILE` when the data is damaged so that it could
 *   not be restored whole, `DISK_FULL`, or `INTERNAL` when the disk failed
 */
export async function writeBackup(
  source: BackupSource,
  destination: string,
  options: BackupOptions = {},
): Promise<WrittenBackup> {
  const path = resolve(destination)
  requireFree(path)
  requireApart(path, source.directory)
  const draft = `${path}${DRAFT_SUFFIX}`
  requireLeftOver(draft)
  await mkdir(draft, { recursive: true })
  const lock = DirectoryLock.acquire(draft)
  try {
    await clear(draft)
    const written = await fill(source, draft, options)
    await syncDirectory(draft)
    // The lock's file goes last: where it is missing another backup takes the draft for its own, and empties it.
    await rename(draft, path)
    await syncDirectory(dirname(path))
    await rm(join(path, UNFINISHED_FILE))
    await rm(join(path, LOCK_FILE))
    return { path, ...written }
  } catch (thrown) {
    await rm(draft, { recursive: true, force: true })
    options.stop?.throwIfAborted()
    throw fileError(thrown, path)
  } finally {
    lock.release()
  }
}

/**
 * Makes a backup of a data directory that no server has open.
 *
 * @throws WarpdexError as `writeBackup`; `BAD_REQUEST` when a process has it open
 */
export async function backUpDirectory(
  directory: string,
  destination: string,
  options: BackupOptions = {},
): Promise<WrittenBackup> {
  const path = resolve(directory)
  const lock = await lockStore(path)
  if (lock === undefined) throw badRequest(`${path} holds no data of warpdex`)
  try {
    const copyDataFile = async (folder: string, copyOptions: CopyOptions) => {
      await copyChecked(join(path, DATA_FILE), join(folder, DATA_FILE), copyOptions)
    }
    return await writeBackup({ directory: path, copyDataFile }, destination, options)
  } finally {
    lock.release()
  }
}

/** Copies, checks, and writes the manifest. */
async function fill(
  source: BackupSource,
  draft: string,
  { onProgress, stop }: BackupOptions,
): Promise<Omit<WrittenBackup, 'path'>> {
  const createdAt = new Date().toISOString()
  let done = 0
  let total = sizeOf(join(source.directory, DATA_FILE)) * PASSES
  const onBytes = (bytes: number): void => {
    done += bytes
    onProgress?.({ done, total: Math.max(done, total) })
  }
  const copying = { onBytes, stop }
  await source.copyDataFile(draft, copying)
  stop?.throwIfAborted()
  const dataFile = join(draft, DATA_FILE)
  await syncFile(dataFile)
  total = done + sizeOf(dataFile) * (PASSES - 1)
  const files: BackupFile[] = [{ path: DATA_FILE, ...(await copyChecked(dataFile, undefined, copying)) }]
  await mkdir(join(draft, SNAPSHOT_DIRECTORY))
  const named = await snapshotsNamed(draft, { stop })
  total += named.reduce((sum, { bytes }) => sum + bytes * 2, 0)
  for (const { file } of named) {
    const from = join(source.directory, SNAPSHOT_DIRECTORY, file)
    if (!existsSync(from)) continue
    const copied = await copyChecked(from, join(draft, SNAPSHOT_DIRECTORY, file), copying)
    files.push({ path: `${SNAPSHOT_DIRECTORY}/${file}`, ...copied })
  }
  await syncDirectory(join(draft, SNAPSHOT_DIRECTORY))
  const checked = done
  const inspection = await inspect(draft, {
    onProgress: (bytes) => onProgress?.({ done: checked + bytes, total: Math.max(checked + bytes, total) }),
    stop,
  })
  requireWhole(inspection)
  const manifest = newManifest({ createdAt, files, ...summary(inspection) })
  await writeManifest(draft, manifest)
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return { bytes, manifest, findings: inspection.findings }
}

function summary({ indexes, relations }: Inspection): Pick<BackupManifest, 'indexes' | 'relations'> {
  return { indexes: indexes.map(entryOf), relations: relations.map(entryOf) }
}

function entryOf({ id, definition, last, snapshots }: InspectedIndex | InspectedRelation): BackupEntry {
  return {
    id,
    name: definition.name,
    position: last,
    snapshots: snapshots.map(({ position }) => position),
  }
}

function requireWhole({ findings }: Inspection): void {
  const losses = findings.filter(({ isLoss }) => isLoss)
  if (losses.length === 0) return
  const [{ what }] = losses
  const more = losses.length > 1 ? `, and ${losses.length - 1} more` : ''
  throw damaged(
    `the data is damaged and was not backed up: ${what}${more}; stop the server, look with "warpdex verify", and bring it back from an earlier backup`,
  )
}

/** A folder that is there already must be what a crash has left of an earlier try: that is going to be emptied. */
function requireLeftOver(draft: string): void {
  if (!existsSync(draft)) return
  const names = statSync(draft).isDirectory() ? readdirSync(draft) : undefined
  if (names?.includes(UNFINISHED_FILE) || names?.every((name) => name === LOCK_FILE)) return
  throw badRequest(
    `${draft} is where the backup would be made, and is not an unfinished backup: it has no ${UNFINISHED_FILE}; move it elsewhere, or give the backup another name`,
  )
}

/** Marks a draft as one before anything else is in it, and removes what an earlier try has left. */
async function clear(draft: string): Promise<void> {
  await writeFile(join(draft, UNFINISHED_FILE), '')
  await syncDirectory(draft)
  for (const name of readdirSync(draft))
    if (name !== LOCK_FILE && name !== UNFINISHED_FILE) rmSync(join(draft, name), { recursive: true })
}

function requireFree(path: string): void {
  if (path.toLowerCase().endsWith(DRAFT_SUFFIX)) {
    throw badRequest(`${path} ends in ${DRAFT_SUFFIX}, as only unfinished backups do; name another folder`)
  }
  if (existsSync(path) && (!statSync(path).isDirectory() || readdirSync(path).length > 0)) {
    throw badRequest(`${path} is there already; name a folder that is not, or an empty one`)
  }
  const parent = dirname(path)
  if (existsSync(parent) && statSync(parent).isDirectory()) return
  throw badRequest(`there is no folder ${parent} to put ${basename(path)} into; make it first`)
}

/** A backup within the data would be part of it, and end with it. */
function requireApart(path: string, directory: string): void {
  if (!`${path}/`.startsWith(`${resolve(directory)}/`)) return
  throw badRequest(`${path} lies in the data directory; name a folder outside of it`)
}

/** Bytes of a file, or of the files in a folder. */
export function sizeOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory() !== true) return found?.size ?? 0
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}
