import { concatenate } from '../../protocol/columns.js'
import type { DataRequest } from '../../protocol/data-request.js'
import { decodeFrame, encodeFrame, type Section } from '../../protocol/frame.js'
import type { ControlRequest } from '../../protocol/messages.js'
import type { OpenedIndex } from '../../protocol/replies.js'
import { type EncodedPart, piecesOf } from '../sdk/atomic-write.js'
import { type Bounds, UNBOUNDED } from '../sdk/call-options.js'
import type { ClusterConnection } from '../sdk/cluster/cluster-connection.js'
import type { Located } from '../sdk/connection.js'
import type { DataCall } from '../sdk/data-call.js'
import { inTurns } from '../sdk/index-order.js'
import { dataCallOf } from './data-call.js'

/**
 * The parts of a batch as the replica sets take them that they are on.
 * @param sections a frame each, as they came
 * @param indexOf what a part means by its handle
 */
export function encodeParts(
  { parts, writeId }: ControlRequest<'batch'>,
  sections: ReadonlyMap<string, Section>,
  cluster: ClusterConnection,
  indexOf: (part: DataRequest) => Promise<OpenedIndex>,
): Promise<readonly EncodedPart[]> {
  const encoded = parts.map(async (part, i): Promise<EncodedPart> => {
    if (part.op === 'append') {
      const { connections, spread } = await cluster.placeRows(part.relation, UNBOUNDED, writeId)
      const { header, sections: columns } = decodeFrame(sections.get(String(i))!.bytes)
      const { sections: _, ...fields } = header
      const frames = [encodeFrame({ ...fields, spread }, Object.fromEntries(columns))]
      return {
        part: { index: undefined, items: 0 },
        pieces: connections.map((connection) => ({ connection, frames })),
      }
    }
    const index = await indexOf(part)
    const call = dataCallOf(part, index)
    return encodePart(call, index, await cluster.locate([call], index, UNBOUNDED))
  })
  return Promise.all(encoded)
}

/** @param located where the call goes */
export function encodePart(
  { op, count }: DataCall,
  { name: index }: OpenedIndex,
  located: readonly Located[],
): EncodedPart {
  return { part: { index, items: op === 'expect' ? 0 : count }, pieces: piecesOf(located) }
}

/**
 * Writes parts, all or none, after what was asked before of their indexes.
 * @param writeId by default a new one
 */
export async function writeInTurn(
  parts: readonly EncodedPart[],
  writeId: number | undefined,
  cluster: ClusterConnection,
  bounds: Bounds,
) {
  const indexes = new Set(parts.flatMap(({ part: { index } }) => index ?? []))
  const turns = [...indexes].map((index) => cluster.order.take(index))
  const results = await inTurns(turns, bounds, (sent) => cluster.writeBatch(parts, bounds, sent, writeId))
  const codes = results.flatMap((result) => (result instanceof Uint8Array ? [result] : []))
  return { codes: concatenate(codes), appended: results.filter((result) => !(result instanceof Uint8Array)) }
}
