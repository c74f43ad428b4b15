import type { BackupManifest } from '../../../persistence/backup/backup-manifest.js'
import { type RestoreOptions, restoreBackup } from '../../../persistence/backup/restore.js'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { Engine } from '../../engine/engine.js'
import type { ReplicatedLog } from '../replicated-log.js'
import type { SnapshotPlace } from './snapshot-place.js'

/** How many are kept: the log begins behind the oldest, should the newest be damaged. */
const KEPT = 2

interface SnapshotsOptions {
  readonly engine: Engine
  readonly log: ReplicatedLog
  readonly place: SnapshotPlace
  readonly onWarning: (message: string) => void
  /** Bytes of log after which a snapshot is worth its time. */
  readonly logBytes: number
}

/** Takes the snapshots of a replica set that its node owns. What the older of the two newest has is removed from the log. */
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
    if (this.#bytes < this.#options.logBytes || this.#taking !== undefined) return
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
    const { engine, log, place } = this.#options
    await place.put(position, (folder) => engine.replica.backUp(folder))
    const kept = (await place.positions()).slice(0, KEPT)
    const oldest = kept.at(-1)
    if (kept.length < KEPT || oldest === undefined) return
    await log.trim(oldest)
    await place.removeBefore(oldest)
  }
}

/**
 * Makes a data directory from the newest snapshot that is whole, if there are any.
 * @param onWarning told of those that are not
 * @param options as of `restoreBackup`
 * @returns what it has; undefined where there are none
 * @throws WarpdexError `DAMAGED_FILE` where none of them is
 */
export async function restoreNewest(
  place: SnapshotPlace,
  directory: string,
  onWarning: (message: string) => void,
  options: RestoreOptions = {},
): Promise<BackupManifest | undefined> {
  const positions = await place.positions()
  for (const position of positions) {
    try {
      let restored: BackupManifest | undefined
      await place.fetch(position, async (folder) => {
        restored = await restoreBackup(folder, directory, options)
      })
      return restored
    } catch (thrown) {
      const { message } = toWarpdexError(thrown)
      onWarning(`the snapshot ${position} in ${place.name} is passed over: ${message}`)
    }
  }
  if (positions.length > 0)
    throw new WarpdexError('DAMAGED_FILE', `none of the snapshots in ${place.name} could be brought back`)
  return undefined
}
