import type { ClusterNode } from '../../protocol/replica.js'
import type { Call, Result } from './backend.js'

/** A connection that means a whole cluster. */
export interface ForwardedConnection {
  /** What its client has shown: what it may do is decided where its requests are carried out. */
  readonly token: string | undefined
  /** Whether it reads what any node has. */
  readonly readsAny: boolean
  /** How many replica sets the cluster has. */
  readonly sets: number
  /** Its nodes, as far as they are known here. */
  readonly nodes: () => readonly ClusterNode[]
}

/** Has the requests of one connection carried out wherever in the cluster that is. */
export interface Forwarder {
  /** As `Backend.call`. @throws WarpdexError */
  run(call: Call): Promise<Result>
  /** The connection, or the server, is over: what is not answered fails. */
  close(): void
}

/** Asks no node before there is a request. */
export type Forward = (connection: ForwardedConnection) => Forwarder
