import { badRequest } from '../../protocol/errors.js'
import type { NodePosition } from '../../protocol/replica.js'
import { shown } from '../../protocol/shown.js'
import type { Bounds } from './call-options.js'
import type { Connection } from './connection.js'

/** What the nodes of a cluster have that a client is connected to. Plain data, which other processes may get. */
export interface Position {
  /** Of each replica set, the position in its log up to which the node has everything. */
  readonly positions: readonly number[]
  /**
   * Milliseconds: reads see what was acknowledged so long ago, or before. 0 from owners; undefined where a node does not know, since it
   * has just started.
   */
  readonly behind: number | undefined
}

/**
 * @param waits whether it is to have some at least
 * @param atLeast positions that are waited for
 * @throws WarpdexError `BAD_REQUEST` for such of another number of replica sets
 */
export async function positionOf(
  { replicaSets }: Connection,
  bounds: Bounds,
  waits: boolean,
  atLeast?: readonly number[],
): Promise<Position> {
  if (waits && !(Array.isArray(atLeast) && atLeast.every((each) => Number.isSafeInteger(each) && each >= 0)))
    throw badRequest(
      `reached takes a position, as client.position() gives it, not with positions ${shown(atLeast)}`,
    )
  if (atLeast !== undefined && atLeast.length !== replicaSets.length) {
    throw badRequest(
      `the position is of ${atLeast.length} replica sets; this client is connected to ${replicaSets.length}`,
    )
  }
  const nodes = await Promise.all(replicaSets.map((connection, i) => reach(connection, bounds, atLeast?.[i])))
  const behind = nodes.map((node) => node.behind ?? Number.POSITIVE_INFINITY).reduce((a, b) => Math.max(a, b))
  return {
    positions: nodes.map(({ position }) => position),
    behind: Number.isFinite(behind) ? behind : undefined,
  }
}

async function reach(
  connection: Connection,
  bounds: Bounds,
  atLeast: number | undefined,
): Promise<NodePosition> {
  for (;;) {
    const { fields } = await connection.request('position', { atLeast }, {}, bounds, true)
    // The server waits for some time only.
    if (fields.position >= (atLeast ?? 0)) return fields
  }
}
