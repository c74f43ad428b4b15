import { WarpdexError } from '../../../protocol/errors.js'
import type { ClusterFigures, ClusterNode } from '../../../protocol/replica.js'
import type { NodeConnection } from '../node-connection.js'

const RETRY_MS = 200
/** How long the nodes are asked for before the last known ones are tried. */
const FIND_MS = 2000

/** The nodes of a cluster; none where nobody tells for a while. */
export async function nodesBy(directory: NodeConnection): Promise<readonly ClusterNode[]> {
  const bounds = directory.bounds({ deadline: FIND_MS }, true)
  const reply = await directory.request('cluster', {}, {}, bounds).catch(() => undefined)
  const { nodes = [] } = (reply?.fields ?? {}) as Partial<ClusterFigures>
  directory.learnAddresses(nodes.map(({ url }) => url))
  return nodes
}

/** Addresses of the nodes of a replica set, the owner first. */
export function addressesOf(set: number, all: readonly ClusterNode[]): readonly string[] {
  const nodes = all.filter((node) => node.set === set)
  return nodes.sort((one, other) => rank(one.role) - rank(other.role)).map(({ url }) => url)
}

function rank(role: string): number {
  return role === 'owner' ? 0 : 1
}

/** Nodes that start may not be known at once. */
export async function untilFound(
  find: () => Promise<readonly string[]>,
  set: number,
  timeout: number,
): Promise<readonly string[]> {
  for (const until = performance.now() + timeout; ; ) {
    const urls = await find()
    if (urls.length > 0) return urls
    if (performance.now() > until)
      throw new WarpdexError('CONNECTION_LOST', `replica set ${set} of the cluster has no node`)
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}
