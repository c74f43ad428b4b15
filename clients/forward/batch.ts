import type { DataRequest } from '../../protocol/data-request.js'
import { badRequest } from '../../protocol/errors.js'
import type { Section, Sections } from '../../protocol/frame.js'
import type { ControlRequest } from '../../protocol/messages.js'
import type { OpenedIndex } from '../../protocol/replies.js'
import { UNBOUNDED } from '../sdk/call-options.js'
import type { ClusterConnection } from '../sdk/cluster/cluster-connection.js'
import type { Connection } from '../sdk/connection.js'
import { encodeCall } from '../sdk/data-call.js'
import { dataCallOf } from './data-call.js'

/** A batch as the replica set takes it that its parts are on. */
export interface PlacedBatch {
  readonly connection: Connection
  readonly sections: Sections
}

/**
 * @param sections a frame each, as they came
 * @param indexOf what a part means by its handle
 * @throws WarpdexError `BAD_REQUEST` where several replica sets have parts
 */
export async function placeBatch(
  { parts }: ControlRequest<'batch'>,
  sections: ReadonlyMap<string, Section>,
  cluster: ClusterConnection,
  indexOf: (part: DataRequest) => Promise<OpenedIndex>,
): Promise<PlacedBatch> {
  const connections = new Set<Connection>()
  const placed: [string, Section][] = []
  for (const [name, section] of sections) {
    const part = parts[Number(name)]!
    if (part.op === 'append') {
      connections.add(cluster.home)
      placed.push([name, section])
      continue
    }
    const index = await indexOf(part)
    const call = dataCallOf(part, index)
    const located = await cluster.locate([call], index, UNBOUNDED)
    connections.add(located.connection)
    placed.push([name, { type: 'bytes', bytes: encodeCall(call, 0, located.index, 0) }])
  }
  const [connection = cluster.home, ...others] = connections
  if (others.length === 0) return { connection, sections: Object.fromEntries(placed) }
  throw badRequest('the parts of a batch are on one replica set of the cluster')
}
