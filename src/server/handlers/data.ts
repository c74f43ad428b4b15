import type { ReadColumns, ReadOp, ReadRequest, ReadResults } from '../../../gpu/index-structure.js'
import { type Column, columnOf } from '../../../protocol/columns.js'
import { numberIn } from '../../../protocol/data-frame.js'
import {
  type DataRequest,
  isWait,
  type WireColumn,
  type WireColumns,
  wireColumn,
} from '../../../protocol/data-request.js'
import { badRequest, WarpdexError } from '../../../protocol/errors.js'
import type { SectionType } from '../../../protocol/frame.js'
import { LIMITS } from '../../../protocol/limits.js'
import {
  explainColumns,
  getNextColumns,
  rangeColumns,
  requestKeys,
  scanColumns,
  writeColumns,
} from '../../../protocol/request-columns.js'
import { keyWidth, wireKeyType } from '../../../protocol/types.js'
import type { Engine } from '../../engine/engine.js'
import type { Index } from '../../engine/named-index.js'
import type { ReadVersions, VersionId } from '../../engine/read-versions.js'
import { authoriseData } from '../access/rights.js'
import type { Result } from '../backend.js'
import { indexesFor, type RequestContext, versionIdOf, writeIdOf } from './context.js'

/** Requests for the data of one index. */
export async function handleData(
  engine: Engine,
  request: DataRequest,
  context: RequestContext,
): Promise<Result> {
  const index = authoriseData(context.grant, request, indexesFor(engine, request.writeId, context))
  const { definition } = index
  const { memory } = context
  const read = readerOf(engine, index, request, context)
  const { traversal, withSequences, reverse, fromExclusive, toExclusive, limit = 0 } = request
  const keys = () => ({ keys: requestKeys(request, definition) })
  switch (request.op) {
    case 'get': {
      const get = { op: 'get', traversal, withSequences, memory } as const
      const { found, payloads, sequences } = await read(get, keys())
      return {
        columns: {
          found: wireColumn('u8', found),
          payloads: sent('bytes', payloads),
          ...(sequences && { sequences: sent('u32', sequences) }),
        },
      }
    }
    case 'getAll': {
      const all = { op: 'getAll', limit: LIMITS.scanEntries } as const
      const { offsets, payloads } = await read(all, keys())
      return { columns: { offsets: wireColumn('u32', offsets), payloads: sent('bytes', payloads) } }
    }
    case 'count':
      return { columns: { counts: wireColumn('u32', await read({ op: 'count' }, keys())) } }
    case 'explain': {
      const columns = { keys: explainColumns(request, definition) }
      const explanation = await read({ op: 'explain', traversal }, columns)
      return { fields: { explanation: { ...explanation, expiry: index.expiry?.figures } } }
    }
    case 'scan': {
      const { ranges, ...ends } = scanColumns(request, definition)
      const { withoutKeys, withoutPayloads } = request
      const withExpireAt = request.withExpireAt && !withoutPayloads
      const order = { reverse, fromExclusive, toExclusive, withoutKeys, withoutPayloads, withExpireAt }
      const scan = { op: 'scan', ranges, limit, ...order, memory } as const
      const version = toBeOpened(engine.versions, request, context)
      const page = await (version === undefined
        ? read(scan, ends)
        : index.readAndOpen(version, scan, ends, context.call))
      return {
        columns: {
          offsets: wireColumn('u32', page.offsets),
          keys: withoutKeys ? undefined : sent(wireKeyType(definition.keyType), page.keys),
          payloads: withoutPayloads ? undefined : sent('bytes', page.payloads),
          expireAt: page.expireAt && sent('u64', page.expireAt),
          more: wireColumn('u8', page.more),
          tokens: sent('bytes', page.tokens),
        },
      }
    }
    case 'countRanges': {
      const { ranges, ...ends } = rangeColumns(request, definition)
      const counts = await read({ op: 'countRanges', ranges, fromExclusive, toExclusive }, ends)
      return { columns: { counts: wireColumn('u64', counts) } }
    }
    case 'getNext': {
      const columns = getNextColumns(request, definition)
      const next = await read({ op: 'getNext', reverse, traversal }, columns)
      return {
        columns: {
          found: wireColumn('u8', next.found),
          keys: sent(wireKeyType(definition.keyType), next.keys),
          payloads: sent('bytes', next.payloads),
          sequences: sent('u32', next.sequences),
        },
      }
    }
    case 'deleteRange':
      return { columns: await deleteRange(index, request, context) }
    case 'expect':
      throw badRequest('expect is a part of a batch')
    case 'load':
      return { columns: await load(index, request, context) }
    case 'watch':
      return { columns: await watch(engine, index, request, context) }
    default:
      return { columns: await write(index, request, context) }
  }
}

/** How a request reads an index: as it is now, or as of a read version. */
function readerOf(
  { versions }: Engine,
  index: Index,
  request: DataRequest,
  context: RequestContext,
): <Op extends ReadOp>(request: ReadRequest<Op>, columns: ReadColumns) => Promise<ReadResults[Op]> {
  const { call } = context
  if (request.version === undefined || toBeOpened(versions, request, context) !== undefined)
    return (request, columns) => index.read(request, columns, call)
  const version = versions.use(versionIdOf(request.version, context))
  return (request, columns) => index.read(request, columns, call, version)
}

/** The read version that a scan is to open. One that is open already was opened by the same request, which was sent again. */
function toBeOpened(
  versions: ReadVersions,
  { version, opensVersion }: DataRequest,
  context: RequestContext,
): VersionId | undefined {
  if (version === undefined || opensVersion !== true) return undefined
  const id = versionIdOf(version, context)
  return versions.has(id) ? undefined : id
}

async function write(index: Index, request: DataRequest, context: RequestContext): Promise<WireColumns> {
  const items = { ...writeColumns(request, index.definition), traversal: request.traversal }
  const codes = await index.write(items, writeIdOf(request.writeId, context), context.call)
  return { codes: wireColumn('u8', codes) }
}

async function deleteRange(
  index: Index,
  request: DataRequest,
  context: RequestContext,
): Promise<WireColumns> {
  const { ranges, from, to } = rangeColumns(request, index.definition)
  if (ranges !== 1) throw badRequest(`deleteRange deletes one range, not ${ranges}`)
  const { fromExclusive, toExclusive } = request
  const range = { from: from?.bytes, to: to?.bytes, fromExclusive, toExclusive }
  const deleted = await index.deleteRange(range, writeIdOf(request.writeId, context), context.call)
  return { counts: wireColumn('u64', BigUint64Array.of(BigInt(deleted))) }
}

async function load(index: Index, request: DataRequest, context: RequestContext): Promise<WireColumns> {
  const { writeId, columns } = request
  if (columns.after !== undefined && writeId === undefined) {
    throw badRequest('load takes a column "after" only beside a write id')
  }
  const after = columns.after && numberIn(columns.after, 'after')
  const items = writeColumns(request, index.definition)
  const counts = await index.load(items, { after }, writeIdOf(writeId, context), context.call)
  const { rows, inserted, replaced, existing, refused } = counts
  return { counts: wireColumn('u32', Uint32Array.of(rows, inserted, replaced, existing, refused)) }
}

/** Tells what has changed behind a position; with a limit of 0 waits until something has, and tells nothing. */
async function watch(
  engine: Engine,
  index: Index,
  request: DataRequest,
  context: RequestContext,
): Promise<WireColumns> {
  const { feed } = index
  const version = request.version === undefined ? undefined : versionIdOf(request.version, context)
  const after = request.position ?? (await feed.position(version && engine.versions.use(version)))
  const position = wireColumn('u64', BigUint64Array.of(BigInt(after)))
  if (isWait(request)) {
    const { call } = context
    await feed.changed(after, call)
    if (call.cancelled) throw new WarpdexError('CANCELLED', 'nobody waits for changes any more')
    // Index and rights may be others than they were.
    authoriseData(context.grant, request, engine)
    return { position }
  }
  const { offsets, ops, keys, payloads, expireAt, range } = await feed.read(after, request.limit ?? 0)
  const keyType = wireKeyType(index.definition.keyType)
  const width = keyWidth(index.definition.keyType)
  const end = (key: Uint8Array | undefined) => key && sent(keyType, columnOf([key], width))
  return {
    position,
    offsets: wireColumn('u32', offsets),
    ops: sent('u8', ops),
    keys: sent(keyType, keys),
    payloads: payloads && sent('bytes', payloads),
    expireAt: expireAt && sent('u64', expireAt),
    from: end(range?.from),
    to: end(range?.to),
  }
}

function sent(type: SectionType, { bytes, offsets }: Column): WireColumn {
  return wireColumn(type, bytes, offsets)
}
