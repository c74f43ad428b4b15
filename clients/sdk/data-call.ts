import { type Column, columnBytes, sliceColumn } from '../../protocol/columns.js'
import { encodeDataRequest } from '../../protocol/data-frame.js'
import type {
  ColumnName,
  DataOp,
  DataRequest,
  IndexHandle,
  SentRequest,
} from '../../protocol/data-request.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { OpenedIndex } from '../../protocol/replies.js'
import { smallMemory } from '../../protocol/small-memory.js'
import { wireKeyType } from '../../protocol/types.js'
import { type PieceLimits, pieceEnds } from '../../protocol/write-pieces.js'
import type { Part, Reply } from './reply.js'

/** A request for data, but for the index that it means and for what the connection says of it. */
export interface DataCall<O extends DataOp = DataOp>
  extends Omit<DataRequest, 'id' | 'deadline' | 'columns' | keyof IndexHandle> {
  readonly op: O
  /** Of as many values as the call counts, but for `after`. */
  readonly columns: CallColumns
}

export type CallColumns = { readonly [Name in ColumnName]?: Column | undefined }

/** All that a request may say: what is added to the type and not named does not compile. */
type WholeRequest = { readonly [Name in keyof Required<SentRequest>]: SentRequest[Name] }

/** The frame of a call. @param deadline milliseconds that are left for it, 0 for any */
export function encodeCall(
  call: DataCall,
  id: number,
  index: OpenedIndex,
  deadline: number,
): Uint8Array<ArrayBuffer> {
  // Named one by one: to copy whatever a call has takes longer than to write its frame.
  const request: WholeRequest = {
    id,
    op: call.op,
    handle: index.handle,
    generation: index.generation,
    count: call.count,
    limit: call.limit,
    deadline,
    reverse: call.reverse,
    fromExclusive: call.fromExclusive,
    toExclusive: call.toExclusive,
    withoutKeys: call.withoutKeys,
    withoutPayloads: call.withoutPayloads,
    withExpireAt: call.withExpireAt,
    withSequences: call.withSequences,
    mode: call.mode,
    traversal: call.traversal,
    writeId: call.writeId,
    version: call.version,
    opensVersion: call.opensVersion,
    position: call.position,
    keyType: wireKeyType(index.keyType),
    columns: call.columns,
  }
  return encodeDataRequest(request, smallMemory)
}

/** Bytes of a frame that are left to columns: the rest is room for the header and the gaps between columns. */
export const COLUMN_BYTES = LIMITS.frameBytes - LIMITS.headerBytes - 1024

/** The call with something else in the place of each of its columns. */
export function mapColumns<C extends DataCall>(call: C, count: number, map: (column: Column) => Column): C {
  const columns = Object.entries(call.columns).map(([name, column]) => [name, column && map(column)])
  return { ...call, count, columns: Object.fromEntries(columns) }
}

/** The call, or calls for pieces of its columns that are within the limits. */
export function cutCall<C extends DataCall>(call: C, limits: PieceLimits): readonly C[] {
  let bytes = 0
  let name: ColumnName
  for (name in call.columns) {
    const column = call.columns[name]
    if (column !== undefined) bytes += columnBytes(column)
  }
  if (call.count <= limits.rows && bytes <= limits.bytes) return [call]
  const columns = Object.values(call.columns).filter((column) => column !== undefined)
  let start = 0
  return Array.from(pieceEnds(columns, call.count, limits), (end) => {
    const first = start
    start = end
    return mapColumns(call, end - first, (column) => sliceColumn(column, first, end))
  })
}

/** Parts are multiples of this, so that their bitmaps can be put one after the other. */
const PART_UNIT = 8

/**
 * Asks for what a call reads in as many requests as it takes, all of them before it returns. A part whose answer would be too large is asked for
 * again in halves, and a single range with half its limit.
 * @param join makes one answer of the replies, which are in order
 */
export function askInParts<T>(
  call: DataCall,
  ask: (part: DataCall) => Promise<Reply>,
  join: (parts: readonly Part[]) => T,
): Promise<T> {
  const askAll = (calls: readonly DataCall[]) => {
    const answers = calls.map((part) => askInParts(part, ask, (parts) => parts))
    return Promise.all(answers).then((parts) => join(parts.flat()))
  }
  const { limit } = call
  const limits = {
    rows: limit === undefined ? LIMITS.batchItems : Math.floor(LIMITS.scanEntries / limit),
    bytes: COLUMN_BYTES,
    unit: limit === undefined ? PART_UNIT : 1,
  }
  const calls = cutCall(call, limits)
  if (calls.length > 1) return askAll(calls)
  return ask(call).then(
    (reply) => join([{ asked: call, reply }]),
    (error) => {
      const tooLarge = error instanceof WarpdexError && error.code === 'TOO_LARGE'
      const smaller = tooLarge ? halves(call, limits) : undefined
      if (smaller === undefined) throw error
      return askAll(smaller)
    },
  )
}

/** Smaller parts of a call whose answer would be too large; undefined where there are none. */
function halves(call: DataCall, limits: Required<PieceLimits>): readonly DataCall[] | undefined {
  const { count, limit = 1 } = call
  const { unit } = limits
  if (count > unit) return cutCall(call, { ...limits, rows: Math.ceil(count / 2 / unit) * unit })
  return limit > 1 ? [{ ...call, limit: limit >> 1 }] : undefined
}
