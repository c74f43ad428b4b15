import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DirectoryLock, LOCK_FILE } from './directory-lock.js'
import { directoryError } from './errors.js'
import { damaged } from './record.js'
import {
  DATA_FILE,
  LMDB_LOCK_FILE,
  MANIFEST_FILE,
  SNAPSHOT_DIRECTORY,
  UNFINISHED_FILE,
} from './store-files.js'

const FORMAT = 2
const FORMAT_FILE = 'warpdex.format'
const FORMAT_DRAFT = `${FORMAT_FILE}.tmp`

/**
 * Looks at a directory without changing it.
 *
 * @returns whether it holds a store, as opposed to nothing
 * @throws WarpdexError `DAMAGED_FILE` when it holds something else, or a store of another format
 */
export async function holdsStore(directory: string): Promise<boolean> {
  if (!existsSync(directory)) return false
  const names = await readdir(directory)
  if (names.includes(MANIFEST_FILE)) {
    throw damaged(`${directory} is a backup; bring it back to another folder with "warpdex restore"`)
  }
  if (!names.includes(FORMAT_FILE)) {
    const foreign = names.find((name) => name !== LOCK_FILE && name !== FORMAT_DRAFT)
    if (foreign === undefined) return false
    throw damaged(
      `${directory} holds ${foreign} and is not a warpdex data directory; a server starts with one, or with an empty or new directory`,
    )
  }
  const text = await readFile(join(directory, FORMAT_FILE), 'latin1')
  const match = /^warpdex data, format (\d+)\n$/.exec(text)
  if (match === null) {
    throw damaged(`${join(directory, FORMAT_FILE)} is damaged; bring the data directory back from a backup`)
  }
  const format = Number(match[1])
  if (format !== FORMAT) {
    const release = format > FORMAT ? 'a later release' : 'an earlier release'
    throw damaged(
      `${directory} has data format ${format}, of ${release}; this program reads format ${FORMAT}, so use the version that wrote it, or name an empty directory and load the data anew`,
    )
  }
  return true
}

/**
 * Locks a directory that holds a store; undefined where it holds nothing.
 *
 * @throws WarpdexError `BAD_REQUEST` when a process has it open, or this user may not; and as `holdsStore`
 */
export async function lockStore(directory: string): Promise<DirectoryLock | undefined> {
  try {
    return (await holdsStore(directory)) ? DirectoryLock.acquire(directory) : undefined
  } catch (error) {
    throw directoryError(directory, error)
  }
}

/** Makes an empty directory one that holds a store. */
export async function markAsStore(directory: string): Promise<void> {
  await replaceFile(join(directory, FORMAT_FILE), `warpdex data, format ${FORMAT}\n`)
}

/** Whether a crash has ended the replacement of what a directory held. */
export function isHalfReplaced(directory: string): boolean {
  return existsSync(join(directory, UNFINISHED_FILE))
}

/** Removes a store. The directory counts as half replaced until its `UNFINISHED_FILE` is removed. */
export async function removeStore(directory: string): Promise<void> {
  await writeFile(join(directory, UNFINISHED_FILE), '')
  await syncDirectory(directory)
  for (const name of [FORMAT_FILE, DATA_FILE, LMDB_LOCK_FILE, SNAPSHOT_DIRECTORY])
    await rm(join(directory, name), { recursive: true, force: true })
}

/** Puts a text in the place of a file, or where there is none, so that a crash leaves the one or the other. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.tmp`
  await writeFile(draft, text, { flush: true })
  await rename(draft, path)
  await syncDirectory(dirname(path))
}

/** Makes a directory with its parents, and makes their names durable. */
export async function makeDirectory(directory: string): Promise<void> {
  const missing: string[] = []
  for (let above = directory; !existsSync(above); above = dirname(above)) missing.push(above)
  // One by one: Node 20's own way never ends where the system lets nobody make folders, such as in /proc.
  for (const folder of missing.toReversed()) {
    await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
      // Somebody else may have made it meanwhile.
      if (error.code !== 'EEXIST') throw error
    })
  }
  for (const folder of missing) await syncDirectory(dirname(folder))
}

/** Makes the names in a directory durable: a new or renamed file can vanish in a power cut without this. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
