import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { badRequest } from '../../protocol/errors.js'
import { unusable } from '../disk/errors.js'
import { damaged } from '../disk/record.js'
import { DATA_FILE, MANIFEST_FILE, SNAPSHOT_DIRECTORY, SNAPSHOT_FILE } from '../disk/store-files.js'

const FORMAT = 2

export interface BackupFile {
  /** Relative to the backup's folder, with slashes. */
  readonly path: string
  readonly bytes: number
  /** In hex. */
  readonly sha256: string
}

/** What a backup holds. */
export interface BackupManifest {
  readonly format: number
  /** When its data was what it is, in ISO 8601. */
  readonly createdAt: string
  readonly files: readonly BackupFile[]
  readonly indexes: readonly BackupEntry[]
  /** Absent in backups of versions that had none. */
  readonly relations?: readonly BackupEntry[]
}

/** An index or a relation of a backup. */
export interface BackupEntry {
  readonly id: number
  readonly name: string
  /** Position of the last write that it contains. */
  readonly position: number
  /** Positions of its snapshots, newest first. */
  readonly snapshots: readonly number[]
}

export function newManifest(content: Omit<BackupManifest, 'format'>): BackupManifest {
  return { format: FORMAT, ...content }
}

/** Writes a manifest with its own checksum, and syncs it. */
export async function writeManifest(directory: string, manifest: BackupManifest): Promise<void> {
  const sealed = { manifest, sha256: sealOf(manifest) }
  const text = `${JSON.stringify(sealed, undefined, 2)}\n`
  await writeFile(join(directory, MANIFEST_FILE), text, { flag: 'wx', flush: true })
}

export function isBackup(directory: string): boolean {
  return existsSync(join(directory, MANIFEST_FILE))
}

/** @throws WarpdexError `DAMAGED_FILE`, or `BAD_REQUEST` when this user may not read it */
export function readManifest(directory: string): BackupManifest {
  const path = join(directory, MANIFEST_FILE)
  if (!existsSync(directory)) throw badRequest(`${directory} does not exist`)
  if (!existsSync(path)) throw damaged(`${directory} is not a backup: it has no ${MANIFEST_FILE}`)
  let sealed: { manifest?: BackupManifest; sha256?: string }
  try {
    sealed = Object(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw unusable(path, error)
    throw damaged(`${path} is damaged; use another backup`)
  }
  const { manifest, sha256 } = sealed
  if (manifest === undefined || sha256 !== sealOf(manifest)) {
    throw damaged(`${path} does not match its checksum; use another backup`)
  }
  if (manifest.format !== FORMAT) {
    throw damaged(`${path} has format ${manifest.format}; this program reads format ${FORMAT}`)
  }
  const strange = manifest.files.find((file) => !isBackupPath(file.path))
  if (strange !== undefined) throw damaged(`${path} names ${strange.path}, which is not a file of a backup`)
  return manifest
}

/** A manifest from elsewhere must not name files outside of the backup. */
function isBackupPath(path: string): boolean {
  const [folder, file = ''] = path.split('/')
  return (
    path === DATA_FILE ||
    (path === `${folder}/${file}` && folder === SNAPSHOT_DIRECTORY && SNAPSHOT_FILE.test(file))
  )
}

/** Of the manifest alone, not of how it is laid out. */
function sealOf(manifest: BackupManifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}
