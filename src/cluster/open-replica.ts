import { holdsStore } from '../../persistence/disk/data-directory.js'
import { badRequest } from '../../protocol/errors.js'
import type { Config } from '../config/settings.js'
import type { Engine } from '../engine/engine.js'
import { JetStreamLog } from './jetstream-log.js'
import { Lease } from './lease.js'
import { openNats } from './nats.js'
import { ReplicaNode } from './replica-node.js'
import { ReplicaSnapshots, restoreNewest } from './replica-snapshots.js'

/**
 * Has an engine take part in the replica set that a server's settings name.
 * @param url by which clients reach the server, unless the settings say otherwise
 * @throws WarpdexError `BAD_REQUEST`
 */
export async function openReplica(
  engine: Engine,
  config: Config,
  url: string,
  onWarning: (message: string) => void,
): Promise<ReplicaNode> {
  const { replicaSet: name, nats: servers, natsCredentials, natsMonitors, natsUnsafe, advertise } = config
  if (servers === '') throw badRequest('--replica-set needs --nats, the servers with its log')
  const address = advertise === '' ? url : advertise
  const nats = await openNats({
    servers,
    credentials: natsCredentials,
    monitors: natsMonitors,
    unsafe: natsUnsafe,
    name,
    node: address,
  })
  const log = new JetStreamLog(nats)
  const ownership = new Lease(nats.bucket, address)
  try {
    const { replicaSnapshots: folder } = config
    const snapshots =
      folder === '' ? undefined : new ReplicaSnapshots({ engine, log, folder, name, onWarning })
    return await ReplicaNode.open({ engine, log, ownership, name, onWarning, snapshots })
  } catch (error) {
    await ownership.close()
    await log.close()
    throw error
  }
}

/** Brings the data directory of a node that has none back from the newest snapshot of its replica set. */
export async function restoreReplica(
  { replicaSet: name, replicaSnapshots: folder, directory }: Config,
  onWarning: (message: string) => void,
): Promise<void> {
  if (name === '' || folder === '' || (await holdsStore(directory))) return
  await restoreNewest({ folder, name, onWarning }, directory)
}

/** What a server without a replica set writes others will never have: its data directory is of none from then on. */
export async function leaveReplicaSet(
  { replica }: Engine,
  onWarning: (message: string) => void,
): Promise<void> {
  const { note } = replica
  if (note === undefined) return
  onWarning(`the data directory was of the replica set ${note.name}, and is of none from now on`)
  await replica.leave()
}
