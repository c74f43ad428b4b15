/** What a node of a replica set does: takes writes, makes those of its owner, or cannot go on at the moment. */
export type ReplicaRole = 'owner' | 'following' | 'failed'
