import { holdsStore, isHalfReplaced } from '../../persistence/disk/data-directory.js'
import { badRequest, toWarpdexError } from '../../protocol/errors.js'
import type { ClusterFigures } from '../../protocol/replica.js'
import type { Config } from '../config/settings.js'
import type { Engine } from '../engine/engine.js'
import { handOver } from './hand-over.js'
import { JetStreamLog } from './jetstream-log.js'
import { JointBatches } from './joint-batches.js'
import { Lease } from './lease.js'
import { type Announcement, MEMBER_MS, Members } from './members.js'
import { type Nats, openMembers, openNats, openReplicaSet } from './nats.js'
import { ReplicaNode } from './replica-node.js'
import { openPlace } from './snapshots/open-place.js'
import { ReplicaSnapshots, restoreNewest } from './snapshots/replica-snapshots.js'
import type { SnapshotPlace } from './snapshots/snapshot-place.js'

/** The part that a server takes in a cluster: it is a node of one of its replica sets, each of which has a part of the keys. */
export class ClusterMember {
  readonly #config: Config
  readonly #nats: Nats
  readonly #members: Members
  readonly #url: string
  readonly #onWarning: (message: string) => void
  #set: number | undefined
  #node: ReplicaNode | undefined
  #batches: JointBatches | undefined
  /** Position of the newest snapshot when the node began anew: it is not tried again. */
  #restored = 0

  private constructor(
    config: Config,
    url: string,
    nats: Nats,
    members: Members,
    onWarning: (message: string) => void,
  ) {
    this.#config = config
    this.#url = url
    this.#nats = nats
    this.#members = members
    this.#onWarning = onWarning
  }

  /**
   * Takes part in the cluster that a server's settings name, and brings an empty data directory back from the newest snapshot of its replica set.
   * @param url by which clients reach the server, unless the settings say otherwise
   * @throws WarpdexError `BAD_REQUEST`
   */
  static async join(
    config: Config,
    url: string,
    onWarning: (message: string) => void,
  ): Promise<ClusterMember> {
    const { cluster, replicaSets: sets, replicaSet: set, nats: servers } = config
    if (servers === '') throw badRequest('--cluster needs --nats, the servers with its log')
    if (set !== 'auto' && Number(set) >= sets)
      throw badRequest(`--replica-set ${set} is none of --replica-sets ${sets}; they count from 0`)
    const address = config.advertise === '' ? url : config.advertise
    const { natsCredentials: credentials, natsMonitors: monitors, natsUnsafe: unsafe } = config
    const nats = await openNats({ servers, credentials, monitors, unsafe, node: address })
    let members: Members | undefined
    try {
      members = new Members(await openMembers(nats, cluster, MEMBER_MS))
      const member = new ClusterMember(config, address, nats, members, onWarning)
      await member.#restoreEmpty()
      return member
    } catch (error) {
      await members?.close()
      await nats.connection.close()
      throw error
    }
  }

  /** What its node does; undefined before `begin`. */
  get node(): ReplicaNode | undefined {
    return this.#node
  }

  /** The cluster as it is known here. */
  get figures(): ClusterFigures {
    const { cluster: name, replicaSets: sets } = this.#config
    const nodes = this.#members.nodes.map(({ sets: _sets, at: _at, ...node }) => node)
    const bySet = nodes.sort((one, other) => one.set - other.set)
    return { name, set: this.#set ?? 0, sets, nodes: bySet }
  }

  /**
   * Has an engine take part.
   * @param onBehind told when the log lacks what the engine needs next, and a snapshot has it: the engine is to be closed for `restore`
   * @throws WarpdexError `BAD_REQUEST` where its data directory is of another replica set, or of none and not empty
   */
  async begin(engine: Engine, onBehind: () => void): Promise<ReplicaNode> {
    this.#set ??= await this.#join(setOf(engine.replica.note?.name))
    const name = this.#nameOf(this.#set)
    const set = await openReplicaSet(this.#nats, this.#config.cluster, this.#set)
    const log = new JetStreamLog(set)
    const ownership = new Lease(set.bucket, this.#url, () => this.#node?.isFresh === true)
    const onWarning = this.#onWarning
    try {
      const place = await this.#openPlace(this.#set)
      const { replicaSnapshotBytes: logBytes } = this.#config
      const snapshots = place && new ReplicaSnapshots({ engine, log, place, onWarning, logBytes })
      const restore = (position: number) => this.#beginAnew(place, position, onBehind)
      this.#node = await ReplicaNode.open({ engine, log, ownership, name, onWarning, snapshots, restore })
    } catch (error) {
      await ownership.close()
      throw error
    }
    const parts = { members: this.#members, node: this.#node, set: this.#set, url: this.#url }
    engine.replica.cluster = () => this.figures
    engine.replica.handOver = (to, watcher) => handOver(parts, to, watcher)
    const batches = new JointBatches(set, this.#set, log, () => this.#node?.isOwner === true)
    this.#batches = batches
    engine.replica.joint = (batch, watcher, write) => batches.make(batch, watcher, write)
    this.#warnOfOthers()
    return this.#node
  }

  /** Makes nothing more of what others write or begin. What it owns it goes on owning, for the writes that its engine still makes. */
  async stopFollowing(): Promise<void> {
    this.#batches?.close()
    await this.#node?.stopFollowing()
  }

  /** Has the newest snapshot take the place of what the engine held, which is closed. `begin` goes on with another engine. */
  async restore(): Promise<void> {
    await this.#node?.close()
    await this.#restoreNewest().catch((thrown: unknown) => this.#onWarning(toWarpdexError(thrown).message))
  }

  /** Gives up what its node owns, and leaves the cluster. The engine takes no writes any more. */
  async close(): Promise<void> {
    await this.#members.close()
    await this.#node?.close()
    await this.#nats.connection.close()
  }

  /** Where there is no data, the replica set is chosen first: its newest snapshot is what the engine opens. */
  async #restoreEmpty(): Promise<void> {
    const { directory } = this.#config
    if (!isHalfReplaced(directory) && (await holdsStore(directory))) return
    this.#set = await this.#join(undefined)
    await this.#restoreNewest()
  }

  async #restoreNewest(): Promise<void> {
    const place = await this.#openPlace(this.#set ?? 0)
    if (place === undefined) return
    await restoreNewest(place, this.#config.directory, this.#onWarning, { replaces: true })
  }

  /** Begins to restore a snapshot that is ahead of a position. @returns whether there is one that has not been tried */
  async #beginAnew(
    place: SnapshotPlace | undefined,
    position: number,
    onBehind: () => void,
  ): Promise<boolean> {
    const [newest = 0] = (await place?.positions().catch(() => [])) ?? []
    if (place === undefined || newest <= Math.max(position, this.#restored)) return false
    this.#restored = newest
    this.#onWarning(
      `the log goes on from what the data directory, at ${position}, does not have: the snapshot ${newest} in ${place.name} takes its place`,
    )
    onBehind()
    return true
  }

  /** @returns where the snapshots of a replica set are; undefined where it has none */
  async #openPlace(set: number): Promise<SnapshotPlace | undefined> {
    const { directory, replicaSnapshots: where } = this.#config
    if (where === '') return undefined
    return openPlace(where, { nats: this.#nats, replicaSet: this.#nameOf(set), directory })
  }

  /** @param held the number of the replica set that the data directory is of */
  #join(held: number | undefined): Promise<number> {
    const { replicaSet: set, replicaSets: sets } = this.#config
    const all = Array.from({ length: sets }, (_, i) => i)
    const named = set === 'auto' ? held : Number(set)
    return this.#members.join(named === undefined ? all : [named], (set) => this.#announcementOf(set))
  }

  #announcementOf(set: number): Announcement {
    const { role = 'following', position = 0 } = this.#node ?? {}
    return { set, sets: this.#config.replicaSets, url: this.#url, role, position }
  }

  /** Of a replica set, by its number. */
  #nameOf(set: number): string {
    return `${this.#config.cluster}-${set}`
  }

  #warnOfOthers(): void {
    const { replicaSets: sets } = this.#config
    const other = this.#members.nodes.find((node) => node.sets !== sets)
    if (other === undefined) return
    this.#onWarning(
      `${other.url} was started with --replica-sets ${other.sets}, this node with --replica-sets ${sets}; all nodes of a cluster need the same`,
    )
  }
}

/** The number at the end of a replica set's name. */
function setOf(name: string | undefined): number | undefined {
  const number = name === undefined ? undefined : /-(\d+)$/.exec(name)?.[1]
  return number === undefined ? undefined : Number(number)
}

/** What a server without a cluster writes others will never have: its data directory is of none from then on. */
export async function leaveCluster({ replica }: Engine, onWarning: (message: string) => void): Promise<void> {
  const { note } = replica
  if (note === undefined) return
  onWarning(`the data directory was of the replica set ${note.name}, and is of none from now on`)
  await replica.leave()
}
