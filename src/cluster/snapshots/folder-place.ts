import { existsSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newestFirst, type SnapshotPlace } from './snapshot-place.js'

/** A folder that all nodes see. A backup that is not finished has another name there. */
export class FolderPlace implements SnapshotPlace {
  readonly name: string
  readonly #replicaSet: string

  constructor(folder: string, replicaSet: string) {
    this.name = folder
    this.#replicaSet = replicaSet
  }

  async positions(): Promise<number[]> {
    const entries = await this.#entries()
    return newestFirst(entries.filter(({ isWhole }) => isWhole).map(({ position }) => position))
  }

  async put(position: number, backUp: (folder: string) => Promise<void>): Promise<void> {
    await mkdir(this.name, { recursive: true })
    const path = this.#pathOf(position)
    if (!existsSync(path)) await backUp(path)
  }

  fetch(position: number, use: (folder: string) => Promise<void>): Promise<void> {
    return use(this.#pathOf(position))
  }

  async removeBefore(position: number): Promise<void> {
    const old = (await this.#entries()).filter((one) => one.position < position)
    for (const { entry } of old) await rm(join(this.name, entry), { recursive: true, force: true })
  }

  #pathOf(position: number): string {
    return join(this.name, `${this.#replicaSet}-${position}`)
  }

  async #entries() {
    const entries = await readdir(this.name).catch(() => [])
    return entries.flatMap((entry) => {
      const [, replicaSet, position, suffix] = /^([\w-]+)-(\d+)(\.partial)?$/.exec(entry) ?? []
      return replicaSet === this.#replicaSet
        ? [{ entry, position: Number(position), isWhole: suffix === undefined }]
        : []
    })
  }
}
