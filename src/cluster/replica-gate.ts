import { WRITES } from '../../protocol/data-request.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { Op, Request } from '../../protocol/messages.js'
import type { ClusterFigures, ClusterNode } from '../../protocol/replica.js'
import type { ReplicaNode } from './replica-node.js'

/** What is about this node, or about what it has begun to answer. */
const OWN: ReadonlySet<Op> = new Set<Op>([
  'cluster',
  'stats',
  'snapshot',
  'backup',
  'slowRequests',
  'calibrate',
  'closeVersion',
  'queryNext',
  'queryEnd',
])
const CHANGES: ReadonlySet<string> = new Set<string>([
  ...WRITES,
  'createIndex',
  'dropIndex',
  'renameIndex',
  'swapIndexes',
  'createRelation',
  'dropRelation',
  'createRelationIndex',
  'append',
  'changeRows',
  'batch',
  'handOver',
])

/** What a connection is for, as the address says by which it came. */
export interface Aims {
  /** Whether it reads what any node has, be it behind the owner or not: `?reads=any`. */
  readonly readsAny: boolean
  /** The replica set that it means: `?set=0`. */
  readonly set: number | undefined
}

type Owning = Pick<ReplicaNode, 'isOwner' | 'owner' | 'onLost'>

/** Which requests a node of a cluster answers. */
export class ReplicaGate {
  readonly #node: Owning
  readonly #cluster: () => ClusterFigures | undefined
  /** Connections that something was refused to. */
  readonly #refused = new Set<number>()
  /** Gives up what is under way that may be asked for again. */
  readonly #giveUps = new Set<() => void>()

  constructor(node: Owning, cluster: () => ClusterFigures | undefined) {
    this.#node = node
    this.#cluster = cluster
    node.onLost = () => {
      for (const giveUp of this.#giveUps) giveUp()
    }
  }

  /** Nodes of the cluster, as far as they are known. */
  get nodes(): readonly ClusterNode[] {
    return this.#cluster()?.nodes ?? []
  }

  /** How many replica sets the cluster has. */
  get sets(): number {
    return this.#cluster()?.sets ?? 1
  }

  /**
   * Runs a request, or refuses it. Reads of the latest state are the owner's: an answer of one that may have another owner since is given up. So
   * is a write with an id, which the next owner knows if it is in the log: here its outcome may stay unknown for long.
   * Of a connection all is refused behind the first refusal, whoever is the owner by then: its requests take effect in order.
   * @param connection number of the one that it came by
   * @throws WarpdexError `NOT_OWNER`, which says where the owner is, as far as is known; `BAD_REQUEST` where it is not said which replica set is meant
   */
  async run<T>(
    request: Request,
    connection: number,
    { readsAny, set }: Aims,
    answer: () => Promise<T>,
  ): Promise<T> {
    const { op } = request
    const isChange = CHANGES.has(op)
    // Whoever names no other node means what this one owns.
    const isOwn = OWN.has(op) || (request.op === 'handOver' && request.to === undefined)
    if (isOwn) return answer()
    this.#requireSet(set, connection)
    if (readsAny && !isChange) return answer()
    this.#requireOwner(connection)
    const isRepeatable = !isChange || ('writeId' in request && request.writeId !== undefined)
    const answered = isRepeatable ? this.#unlessLost(connection, answer()) : answer()
    const result = await answered.catch((error: unknown) => {
      const { code } = Object(error)
      // Another node will do what one that stops has not done.
      if (code === 'SHUTTING_DOWN') throw this.#refusal(connection, undefined)
      // It comes again by another connection, ahead of what is behind it on this one.
      if (code === 'NOT_OWNER') this.#refused.add(connection)
      throw error
    })
    if (!isChange) this.#requireOwner(connection)
    return result
  }

  /** A connection is over. */
  left(connection: number): void {
    this.#refused.delete(connection)
  }

  #unlessLost<T>(connection: number, answered: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(this.#refusal(connection, undefined))
      this.#giveUps.add(giveUp)
      void answered.then(resolve, reject).finally(() => this.#giveUps.delete(giveUp))
    })
  }

  #requireSet(set: number | undefined, connection: number): void {
    const { sets, set: own, nodes } = this.#cluster() ?? { sets: 1, set: 0, nodes: [] }
    if (sets === 1 || set === own) return
    if (set === undefined) {
      throw badRequest(
        `the server is a node of a cluster of ${sets} replica sets, each of which has a part of the keys: use a client that spreads requests over them, or name one in the address, as in ?set=0`,
      )
    }
    this.#refused.add(connection)
    const others = nodes.filter((node) => node.set === set)
    const { url } = others.find(({ role }) => role === 'owner') ?? others[0] ?? {}
    const where = url === undefined ? 'no node of that is known; try again' : `ask ${url}`
    throw new WarpdexError('NOT_OWNER', `this node is of replica set ${own}, not of ${set}: ${where}`, {
      owner: url,
    })
  }

  #requireOwner(connection: number): void {
    const { isOwner, owner } = this.#node
    if (!isOwner || this.#refused.has(connection)) throw this.#refusal(connection, owner)
  }

  #refusal(connection: number, owner: string | undefined): WarpdexError {
    this.#refused.add(connection)
    const where = owner === undefined ? 'no node does at the moment; try again' : `ask ${owner}`
    return new WarpdexError('NOT_OWNER', `this node does not own its replica set: ${where}`, { owner })
  }
}

/** What the address of a WebSocket says that it is for. */
export function aimsOf(url: string): Aims {
  const query = new URLSearchParams(url.split('?')[1])
  const set = query.get('set')
  return { readsAny: query.get('reads') === 'any', set: set === null ? undefined : Number(set) }
}
