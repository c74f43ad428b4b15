/** What a node of a replica set does: takes writes, makes those of its owner, or cannot go on at the moment. */
export type ReplicaRole = 'owner' | 'following' | 'failed'

/** A node of a replica set. */
export interface ReplicaFigures {
  /** Of the replica set. */
  readonly name: string
  readonly role: ReplicaRole
  /** Address of the owner, where it is known. */
  readonly owner?: string | undefined
  /** Position in the log up to which the node has everything. */
  readonly position: number
}
