import {
  type DictionaryEntry,
  readEntry,
  type StoredIndex,
  type StoredRelation,
} from '../../persistence/disk/dictionary.js'
import type { ChangeSet, ReplicaLog, SetPosition } from '../../persistence/replication/change-sets.js'
import type { ReplicaNote, Store } from '../../persistence/store.js'
import type { JointBatch } from '../../protocol/batch.js'
import type { ClusterFigures, NodePosition, ReplicaFigures } from '../../protocol/replica.js'
import type { JointSteps } from './atomic-batch.js'
import type { Watcher } from './feed-waits.js'
import type { Index } from './named-index.js'
import type { Relation } from './named-relation.js'
import type { Registry } from './registry.js'

/** The turn of an index or a relation that another replica has written to, until it is released. */
export interface ReplicaTurn {
  readonly id: number
  /** Has it hold what its log holds, of which it holds the records up to a position. */
  catchUp(after: number): Promise<void>
  release(): void
}

/** An index, and the definition that gives it another name. */
interface Renamed {
  readonly member: Index
  readonly index: StoredIndex
}

interface ReplicaHost {
  readonly store: Store
  readonly indexes: Registry<Index>
  readonly relations: Registry<Relation>
  openIndex(stored: StoredIndex): Promise<void>
  openRelation(stored: StoredRelation): Promise<void>
}

/** Makes a part of a batch by the steps that all nodes make together. */
export type WritePart<T> = (steps: JointSteps) => Promise<T>

/** The part that an engine takes in a replica set, all of whose stores make the same changes in the same order. */
export class Replica {
  readonly #host: ReplicaHost
  /** What its node does; undefined where there is none. */
  figures: (() => ReplicaFigures) | undefined
  /** Waits, for some time, until its node has everything up to a position in the log, and says what it has. */
  reached: ((position: number, watcher: Watcher) => Promise<NodePosition>) | undefined
  /** The cluster of its node, as it is known there. */
  cluster: (() => ClusterFigures) | undefined
  /** Leaves what its node owns to another one, by its address, or to any. @returns address of the owner then, if one is known */
  handOver: ((to: string | undefined, watcher: Watcher) => Promise<string | undefined>) | undefined
  /** Makes a part of a batch when the nodes of other replica sets make theirs. */
  joint: (<T>(joint: JointBatch, watcher: Watcher, write: WritePart<T>) => Promise<T>) | undefined

  constructor(host: ReplicaHost) {
    this.#host = host
  }

  /** What it has of the log of its replica set; undefined where it is of none. */
  get note(): ReplicaNote | undefined {
    return this.#host.store.replica
  }

  /** Whether there is no index and no relation. */
  get isEmpty(): boolean {
    const { store } = this.#host
    return store.indexes().length === 0 && store.relations().length === 0
  }

  /**
   * Has all that is written entered into the log first, until `stopSharing` or until something of it fails, which the log is told.
   * @param replicaSet its name
   */
  shareBy(log: ReplicaLog, replicaSet: string): void {
    this.#host.store.shareBy(log, replicaSet)
    this.#beginExpiry()
  }

  /** Takes part in no replica set any more. */
  async leave(): Promise<void> {
    await this.#host.store.leaveReplicaSet()
    this.#beginExpiry()
  }

  /** Has entries leave when they expire: until now that was for another one to say. */
  #beginExpiry(): void {
    for (const index of this.#host.indexes.existing()) index.expiry?.begin()
  }

  /** Makes a backup of what is durable now, as `Store.backUp`. */
  async backUp(path: string): Promise<void> {
    await this.#host.store.backUp(path)
  }

  /** Refuses all writes by `NOT_OWNER`. Resolves when none are under way. */
  stopSharing(): Promise<void> {
    return this.#host.store.stopSharing()
  }

  /**
   * Makes a change set of another replica in the store, and then in the structures, in one step for all that ask. One at a time, in their order,
   * and only where nothing is shared.
   * @throws WarpdexError what keeps it from being stored, or a new index or relation from being brought to the device
   */
  async take(changes: ChangeSet, replicaSet: string, position: SetPosition): Promise<void> {
    const host = this.#host
    const entries = changes.flatMap(({ table, key, value }) =>
      table === 'indexes' && value !== undefined ? [readEntry(key, value)] : [],
    )
    const take = () => host.store.take(changes, replicaSet, position)
    if (entries.some(({ dropped }) => dropped !== undefined)) return drop(host, entries, take)
    const renamed = entries.flatMap(({ index }) => {
      const member = index && host.indexes.all().find(({ id }) => id === index.id)
      return index && member ? [{ member, index }] : []
    })
    const logged = changes.filter(({ table }) => table === 'log').map(({ key }) => key.readUInt32BE(0))
    await this.#change(new Set(logged), renamed, take)
    for (const { relation, index } of entries) {
      if (relation !== undefined) await host.openRelation(relation)
      if (index !== undefined && !renamed.some((one) => one.index === index)) await host.openIndex(index)
    }
  }

  /** In the turns of all that changes, or gets another name. Indexes over columns of a relation follow it. */
  async #change(
    logged: ReadonlySet<number>,
    renamed: readonly Renamed[],
    take: () => Promise<void>,
  ): Promise<void> {
    const { store, indexes, relations } = this.#host
    const changed = [...indexes.existing(), ...relations.existing()].filter(
      ({ id = 0 }) => logged.has(id) || renamed.some(({ index }) => index.id === id),
    )
    // One that could not be brought to the device gives no turn. It is made from its log, should it come there again.
    const settled = await Promise.allSettled(changed.map((member) => member.holdToFollow()))
    const turns = settled.flatMap((turn) => (turn.status === 'fulfilled' ? [turn.value] : []))
    try {
      const behind = turns
        .filter(({ id }) => logged.has(id))
        .map((turn) => ({ turn, after: store.log.last(turn.id) }))
      await take()
      for (const { turn, after } of behind) await turn.catchUp(after)
      const members = renamed.map(({ member }) => member)
      indexes.rename(members, () => {
        for (const { member, index } of renamed) member.renamed(index)
      })
    } finally {
      for (const { release } of turns) release()
    }
  }
}

/** A relation is dropped with its indexes, which are in the same change set. */
async function drop(
  { indexes, relations }: ReplicaHost,
  entries: readonly DictionaryEntry[],
  take: () => Promise<void>,
): Promise<void> {
  const ids = entries.flatMap(({ dropped }) => dropped ?? [])
  const relation = relations.all().find(({ id }) => ids.includes(id ?? 0))
  if (relation !== undefined) return relations.drop(relation, () => relation.drop(take))
  const index = indexes.all().find(({ id }) => ids.includes(id ?? 0))
  if (index === undefined) return take()
  const { of } = index.definition
  const over = of && relations.get(of.relation)
  return over === undefined ? indexes.drop(index, () => index.drop(take)) : over.dropIndex(index, take)
}
