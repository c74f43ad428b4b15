import { existsSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { restoreBackup } from '../../persistence/backup/restore.js'
import { toWarpdexError } from '../../protocol/errors.js'
import type { Engine } from '../engine/engine.js'
import type { ReplicatedLog } from './replicated-log.js'

/** Bytes of log after which a snapshot is worth its time. */
const LOG_BYTES = 2 ** 30
/** How many are kept: the log begins behind the oldest, should the newest be damaged. */
const KEPT = 2

interface SnapshotsOptions {
  readonly engine: Engine
  readonly log: ReplicatedLog
  readonly folder: string
  /** Of the replica set. */
  readonly name: string
  readonly onWarning: (message: string) => void
  readonly logBytes?: number
}

/**
 * Snapshots of a replica set: backups of its owner's store in a folder that all nodes see, each named by the position in the log that it has at least.
 * What the older of the two newest has is removed from the log.
 */
export class ReplicaSnapshots {
  readonly #options: SnapshotsOptions
  #bytes = 0
  #taking: Promise<void> | undefined

  constructor(options: SnapshotsOptions) {
    this.#options = options
  }

  /** Begins to count the log, whose owner the node has become. */
  async begin(): Promise<void> {
    this.#bytes = await this.#options.log.size()
  }

  /** Told of bytes that were appended: takes a snapshot in the background when one is due. @param position up to which the store has all */
  appended(bytes: number, position: () => number): void {
    this.#bytes += bytes
    if (this.#bytes < (this.#options.logBytes ?? LOG_BYTES) || this.#taking !== undefined) return
    this.#bytes = 0
    this.#taking = this.#take(position())
      .catch((thrown: unknown) => {
        this.#options.onWarning(`no snapshot of the replica set was taken: ${toWarpdexError(thrown).message}`)
      })
      .finally(() => {
        this.#taking = undefined
      })
  }

  /** Resolves when none is being taken. */
  async settled(): Promise<void> {
    await this.#taking
  }

  async #take(position: number): Promise<void> {
    const { engine, log, folder, name } = this.#options
    await mkdir(folder, { recursive: true })
    const path = join(folder, `${name}-${position}`)
    if (!existsSync(path)) await engine.replica.backUp(path)
    const kept = (await snapshotsIn(folder, name)).slice(0, KEPT)
    const oldest = kept.at(-1)
    if (kept.length < KEPT || oldest === undefined) return
    await log.trim(oldest.position)
    for (const { path } of (await snapshotsIn(folder, name)).slice(KEPT)) await rm(path, { recursive: true })
  }
}

/**
 * Makes a data directory from the newest snapshot that is whole, if there is one.
 * @param onWarning told of those that are not
 */
export async function restoreNewest(
  { folder, name, onWarning }: Pick<SnapshotsOptions, 'folder' | 'name' | 'onWarning'>,
  directory: string,
): Promise<void> {
  for (const { path } of await snapshotsIn(folder, name)) {
    try {
      await restoreBackup(path, directory)
      return
    } catch (thrown) {
      onWarning(`the snapshot ${path} is passed over: ${toWarpdexError(thrown).message}`)
    }
  }
}

/** Newest first. */
async function snapshotsIn(folder: string, name: string): Promise<{ path: string; position: number }[]> {
  const names = await readdir(folder).catch(() => [])
  return names
    .flatMap((entry) => {
      const [, set, position] = /^([\w-]+)-(\d+)$/.exec(entry) ?? []
      return set === name ? [{ path: join(folder, entry), position: Number(position) }] : []
    })
    .sort((one, other) => other.position - one.position)
}
