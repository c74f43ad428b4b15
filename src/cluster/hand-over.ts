import { setTimeout as pause } from 'node:timers/promises'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import type { Watcher } from '../engine/feed-waits.js'
import type { Member, Members } from './members.js'
import type { ReplicaNode } from './replica-node.js'

/** How often is looked what others have announced. */
const LOOK_MS = 100

interface Owner {
  readonly members: Members
  readonly node: ReplicaNode
  /** Number of the replica set. */
  readonly set: number
  /** Address of the node. */
  readonly url: string
}

/**
 * Has the owner of a replica set leave it to another node, once that has announced that it has what the log had when this was asked for: so
 * writes wait for a moment only.
 * @param to address of the other node; any by default
 * @returns address of the owner then, if one is known
 * @throws WarpdexError `BAD_REQUEST` where no other node can take it, `CANCELLED` where nobody waits any more
 */
export async function handOver(
  { members, node, set, url }: Owner,
  to: string | undefined,
  watcher: Watcher,
): Promise<string | undefined> {
  const asked = performance.now()
  const { position } = node
  try {
    while (node.isOwner && to !== url) {
      if (watcher.cancelled) throw new WarpdexError('CANCELLED', 'nobody waits for another owner any more')
      const others = members.nodes.filter((other) => other.set === set && other.url !== url)
      const able = requireAble(others, set, to)
      const next = able.find((other) => other.at > asked && other.position >= position)
      if (next !== undefined) await node.leaveTo(next.url, watcher)
      else {
        node.successorLacks = Math.max(0, position - Math.max(...able.map((other) => other.position)))
        await pause(LOOK_MS)
      }
    }
  } finally {
    node.successorLacks = undefined
  }
  return node.owner
}

/** @returns those that may become the owner */
function requireAble(others: readonly Member[], set: number, to: string | undefined): readonly Member[] {
  const able = others.filter(({ url, role }) => url === (to ?? url) && role !== 'failed')
  if (able.length > 0) return able
  const known = others.map(({ url, role }) => (role === 'failed' ? `${url}, which cannot go on` : url))
  const which = known.length === 0 ? 'it has no other node' : `its other nodes are ${known.join(' and ')}`
  const who = to === undefined ? 'no other node can' : `${to} cannot`
  throw badRequest(`${who} take replica set ${set}: at the moment ${which}`)
}
