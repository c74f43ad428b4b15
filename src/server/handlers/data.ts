import type { Column } from '../../../protocol/columns.js'
import { numberIn } from '../../../protocol/data-frame.js'
import {
  type DataRequest,
  type WireColumn,
  type WireColumns,
  wireColumn,
} from '../../../protocol/data-request.js'
import { badRequest } from '../../../protocol/errors.js'
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
import { wireKeyType } from '../../../protocol/types.js'
import type { Engine } from '../../engine/engine.js'
import type { Index } from '../../engine/named-index.js'
import { authoriseData } from '../access/rights.js'
import type { Result } from '../backend.js'
import { type RequestContext, writeIdOf } from './context.js'

/** Requests for the data of one index. */
export async function handleData(
  engine: Engine,
  request: DataRequest,
  context: RequestContext,
): Promise<Result> {
  const index = authoriseData(context.grant, request, engine)
  const { definition } = index
  const { call, memory } = context
  const { traversal, withSequences, reverse, fromExclusive, toExclusive, limit = 0 } = request
  const keys = () => ({ keys: requestKeys(request, definition) })
  switch (request.op) {
    case 'get': {
      const get = { op: 'get', traversal, withSequences, memory } as const
      const { found, payloads, sequences } = await index.read(get, keys(), call)
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
      const { offsets, payloads } = await index.read(all, keys(), call)
      return { columns: { offsets: wireColumn('u32', offsets), payloads: sent('bytes', payloads) } }
    }
    case 'count':
      return { columns: { counts: wireColumn('u32', await index.read({ op: 'count' }, keys(), call)) } }
    case 'explain': {
      const columns = { keys: explainColumns(request, definition) }
      return { fields: { explanation: await index.read({ op: 'explain', traversal }, columns, call) } }
    }
    case 'scan': {
      const { ranges, ...ends } = scanColumns(request, definition)
      const { withoutKeys, withoutPayloads } = request
      const order = { reverse, fromExclusive, toExclusive, withoutKeys, withoutPayloads }
      const page = await index.read({ op: 'scan', ranges, limit, ...order, memory }, ends, call)
      return {
        columns: {
          offsets: wireColumn('u32', page.offsets),
          keys: withoutKeys ? undefined : sent(wireKeyType(definition.keyType), page.keys),
          payloads: withoutPayloads ? undefined : sent('bytes', page.payloads),
          more: wireColumn('u8', page.more),
          tokens: sent('bytes', page.tokens),
        },
      }
    }
    case 'countRanges': {
      const { ranges, ...ends } = rangeColumns(request, definition)
      const counts = await index.read({ op: 'countRanges', ranges, fromExclusive, toExclusive }, ends, call)
      return { columns: { counts: wireColumn('u64', counts) } }
    }
    case 'getNext': {
      const columns = getNextColumns(request, definition)
      const next = await index.read({ op: 'getNext', reverse, traversal }, columns, call)
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
    case 'load':
      return { columns: await load(index, request, context) }
    default:
      return { columns: await write(index, request, context) }
  }
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

function sent(type: SectionType, { bytes, offsets }: Column): WireColumn {
  return wireColumn(type, bytes, offsets)
}
