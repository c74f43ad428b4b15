import { WRITES } from '../../protocol/data-request.js'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { Op, Request } from '../../protocol/messages.js'
import type { ReplicaNode } from './replica-node.js'

/** What is about this node, or about what it has begun to answer. */
const OWN: ReadonlySet<Op> = new Set<Op>([
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
])

/** Which requests a node of a replica set answers. */
export class ReplicaGate {
  readonly #node: Pick<ReplicaNode, 'isOwner' | 'owner'>
  /** Connections that something was refused to. */
  readonly #refused = new Set<number>()

  constructor(node: Pick<ReplicaNode, 'isOwner' | 'owner'>) {
    this.#node = node
  }

  /**
   * Runs a request, or refuses it. Reads of the latest state are the owner's: an answer of one that may have another owner since is given up.
   * Of a connection all is refused behind the first refusal, whoever is the owner by then: its requests take effect in order.
   * @param connection number of the one that it came by
   * @param readsAny whether whoever asks reads what any node has
   * @throws WarpdexError `NOT_OWNER`, which says where the owner is, as far as is known
   */
  async run<T>(
    request: Request,
    connection: number,
    readsAny: boolean,
    answer: () => Promise<T>,
  ): Promise<T> {
    const { op } = request
    const isChange = CHANGES.has(op)
    if (OWN.has(op) || (readsAny && !isChange)) return answer()
    if (request.op === 'createIndex' && request.ttl !== undefined)
      throw badRequest('a replica set has no indexes whose entries expire; leave ttl out')
    this.#requireOwner(connection)
    const result = await answer()
    if (!isChange) this.#requireOwner(connection)
    return result
  }

  /** A connection is over. */
  left(connection: number): void {
    this.#refused.delete(connection)
  }

  #requireOwner(connection: number): void {
    const { isOwner, owner } = this.#node
    if (isOwner && !this.#refused.has(connection)) return
    this.#refused.add(connection)
    const where = owner === undefined ? 'no node does at the moment; try again' : `ask ${owner}`
    throw new WarpdexError('NOT_OWNER', `this node does not own its replica set: ${where}`, { owner })
  }
}

/** Whether a WebSocket asks by `?reads=any` for what any node has, be it behind the owner or not. */
export function asksForAny(url: string): boolean {
  return new URLSearchParams(url.split('?')[1]).get('reads') === 'any'
}
