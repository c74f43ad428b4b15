import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readManifest } from '../../../persistence/backup/backup-manifest.js'
import { MANIFEST_FILE } from '../../../persistence/disk/store-files.js'
import { newestFirst, type SnapshotPlace } from './snapshot-place.js'

/** Bytes of an object at most, of which each is held in memory as a whole. */
const OBJECT_BYTES = 2 ** 23

/** Objects by their names, of which a replica set has its own. */
export interface ObjectStorage {
  /** For people. */
  readonly name: string
  names(): Promise<string[]>
  put(name: string, bytes: Uint8Array): Promise<void>
  get(name: string): Promise<Uint8Array>
  remove(name: string): Promise<void>
}

/**
 * A storage of objects. A snapshot is `POSITION/PATH/PART` for each part of a file of the backup, parts counting from 0, and
 * `POSITION/warpdex-backup.json`, the manifest, which is written last and removed first: without it there is no snapshot.
 */
export class ObjectPlace implements SnapshotPlace {
  readonly name: string
  readonly #storage: ObjectStorage
  readonly #folder: string

  /** @param folder on this machine, for a backup that is on its way: what it holds is removed */
  constructor(storage: ObjectStorage, folder: string) {
    this.name = storage.name
    this.#storage = storage
    this.#folder = folder
  }

  async positions(): Promise<number[]> {
    const names = await this.#storage.names()
    return newestFirst(names.filter(isManifest).map(positionOf))
  }

  async put(position: number, backUp: (folder: string) => Promise<void>): Promise<void> {
    if ((await this.positions()).includes(position)) return
    await this.#inFolder(async (folder) => {
      const backup = join(folder, String(position))
      await backUp(backup)
      for (const { path } of readManifest(backup).files)
        await this.#putFile(join(backup, path), `${position}/${path}`)
      await this.#storage.put(manifestOf(position), await readFile(join(backup, MANIFEST_FILE)))
    })
  }

  async fetch(position: number, use: (folder: string) => Promise<void>): Promise<void> {
    const names = await this.#storage.names()
    await this.#inFolder(async (folder) => {
      await writeFile(join(folder, MANIFEST_FILE), await this.#storage.get(manifestOf(position)))
      for (const { path } of readManifest(folder).files) {
        const start = `${position}/${path}/`
        const parts = names.filter((name) => name.startsWith(start))
        parts.sort((one, other) => Number(one.slice(start.length)) - Number(other.slice(start.length)))
        await this.#getFile(parts, join(folder, path))
      }
      await use(folder)
    })
  }

  async removeBefore(position: number): Promise<void> {
    const old = (await this.#storage.names()).filter((name) => positionOf(name) < position)
    old.sort((one, other) => Number(isManifest(other)) - Number(isManifest(one)))
    for (const name of old) await this.#storage.remove(name)
  }

  async #putFile(path: string, name: string): Promise<void> {
    const file = await open(path)
    try {
      const chunk = Buffer.allocUnsafe(OBJECT_BYTES)
      for (let part = 0; ; part++) {
        // Goes on where the last read ended.
        const { bytesRead } = await file.read(chunk)
        if (bytesRead === 0) return
        await this.#storage.put(`${name}/${part}`, chunk.subarray(0, bytesRead))
      }
    } finally {
      await file.close()
    }
  }

  async #getFile(parts: readonly string[], path: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true })
    const file = await open(path, 'wx')
    try {
      for (const part of parts) await file.writeFile(await this.#storage.get(part))
    } finally {
      await file.close()
    }
  }

  async #inFolder(use: (folder: string) => Promise<void>): Promise<void> {
    const clear = () => rm(this.#folder, { recursive: true, force: true })
    await clear()
    await mkdir(this.#folder, { recursive: true })
    try {
      await use(this.#folder)
    } finally {
      await clear()
    }
  }
}

function manifestOf(position: number): string {
  return `${position}/${MANIFEST_FILE}`
}

function isManifest(name: string): boolean {
  return name === manifestOf(positionOf(name))
}

function positionOf(name: string): number {
  return Number(name.slice(0, name.indexOf('/')))
}
