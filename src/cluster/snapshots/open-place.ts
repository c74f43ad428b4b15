import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BackupManifest } from '../../../persistence/backup/backup-manifest.js'
import { badRequest, toWarpdexError } from '../../../protocol/errors.js'
import type { Nats } from '../nats.js'
import { FolderPlace } from './folder-place.js'
import { openNatsStorage } from './nats-storage.js'
import { ObjectPlace } from './object-place.js'
import { restoreNewest } from './replica-snapshots.js'
import { openS3Storage } from './s3-storage.js'
import type { SnapshotPlace } from './snapshot-place.js'

interface PlaceOptions {
  readonly nats: Nats
  readonly replicaSet: string
  /** The data directory: what is on its way lies in one beside it. */
  readonly directory: string
}

/**
 * Opens where the snapshots of a replica set are.
 * @param where `nats`, `s3://BUCKET/PREFIX`, `file:///PATH` or a path
 * @throws WarpdexError `BAD_REQUEST` where it cannot be used
 */
export async function openPlace(where: string, options: PlaceOptions): Promise<SnapshotPlace> {
  const place = await placeOf(where, options)
  await place.positions().catch((cause: unknown) => {
    const { message } = toWarpdexError(cause)
    throw badRequest(`the snapshots in ${place.name} cannot be listed: ${message}`, { cause })
  })
  return place
}

async function placeOf(where: string, { nats, replicaSet, directory }: PlaceOptions): Promise<SnapshotPlace> {
  const folder = folderBeside(directory)
  if (where === 'nats') return new ObjectPlace(await openNatsStorage(nats, replicaSet), folder)
  if (where.startsWith('s3:')) return new ObjectPlace(await openS3Storage(where, replicaSet), folder)
  return new FolderPlace(where.startsWith('file:') ? fileURLToPath(where) : where, replicaSet)
}

/**
 * Makes a data directory from the newest snapshot of a replica set that is whole.
 * @param address `s3://BUCKET/PREFIX/REPLICA-SET`
 * @param onWarning told of snapshots that are not
 * @throws WarpdexError `BAD_REQUEST` where there is none, `DAMAGED_FILE` where none is whole
 */
export async function restoreFromS3(
  address: string,
  directory: string,
  onWarning: (message: string) => void,
): Promise<BackupManifest> {
  const [, prefix, replicaSet] = /^(s3:\/\/.+)\/([^/]+)\/*$/.exec(address) ?? []
  if (prefix === undefined || replicaSet === undefined)
    throw badRequest(`${address} names no replica set; it must be s3://BUCKET/PREFIX/CLUSTER-0`)
  const place = new ObjectPlace(await openS3Storage(prefix, replicaSet), folderBeside(directory))
  const restored = await restoreNewest(place, directory, onWarning)
  if (restored === undefined) throw badRequest(`there is no snapshot in ${address}`)
  return restored
}

function folderBeside(directory: string): string {
  return `${resolve(directory)}.snapshot`
}
