/** What a node of a replica set does: takes writes, makes those of its owner, begins anew from a snapshot, or cannot go on at the moment. */
export type ReplicaRole = 'owner' | 'following' | 'restoring' | 'failed'

/** A node of a cluster. */
export interface ClusterNode {
  /** Number of its replica set. */
  readonly set: number
  /** Where clients reach it. */
  readonly url: string
  readonly role: ReplicaRole
  /** Position in the log of its replica set up to which it has everything. */
  readonly position: number
}

/** A cluster as one of its nodes sees it: others may be some seconds ahead, or gone. */
export interface ClusterFigures {
  readonly name: string
  /** Of the node that says it. */
  readonly set: number
  /** How many replica sets there are. */
  readonly sets: number
  readonly nodes: readonly ClusterNode[]
}

/** A node of a replica set. */
export interface ReplicaFigures {
  /** Of the replica set. */
  readonly name: string
  readonly role: ReplicaRole
  /** Address of the owner, where it is known. */
  readonly owner?: string | undefined
  /** Position in the log up to which the node has everything. */
  readonly position: number
  /** How many positions of the log the node lacks that the replica set is about to be left to; absent where it is not. */
  readonly successorLacks?: number | undefined
}

/** What a node has of the log of its replica set. */
export interface NodePosition {
  /** Up to which it has everything: of the owner, everything that was acknowledged. */
  readonly position: number
  readonly role: ReplicaRole
  /** Milliseconds: what was acknowledged so long ago, or before, is there. Absent where the node does not know. */
  readonly behind?: number | undefined
}
