import type { Column } from '../../protocol/columns.js'
import type { DataRequest, WireColumn } from '../../protocol/data-request.js'
import {
  expectColumns,
  explainColumns,
  getNextColumns,
  rangeColumns,
  requestKeys,
  scanColumns,
  writeColumns,
} from '../../protocol/request-columns.js'
import type { IndexDefinition } from '../../protocol/types.js'
import type { CallColumns, DataCall } from '../sdk/data-call.js'

/**
 * A request as a client of a cluster makes it.
 * @throws WarpdexError where its columns are not such of the index
 */
export function dataCallOf(request: DataRequest, definition: IndexDefinition): DataCall {
  const { id: _id, handle: _handle, generation: _generation, deadline: _deadline, ...call } = request
  return { ...call, columns: columnsOf(request, definition) }
}

function columnsOf(request: DataRequest, definition: IndexDefinition): CallColumns {
  const { op, columns } = request
  switch (op) {
    case 'get':
    case 'getAll':
    case 'count':
      return { keys: requestKeys(request, definition) }
    case 'explain':
      return { keys: explainColumns(request, definition) }
    case 'getNext':
      return getNextColumns(request, definition)
    case 'scan':
    case 'countRanges':
    case 'deleteRange': {
      const checked = op === 'scan' ? scanColumns : rangeColumns
      const { from, to, tokens } = checked(request, definition)
      return { from, to, tokens }
    }
    case 'expect': {
      const { keys, conditions } = expectColumns(request, definition)
      const { kinds, payloads, sequences } = conditions
      return { keys, conditions: { bytes: kinds, width: 1 }, payloads, sequences }
    }
    case 'watch':
      return {}
    default: {
      const { keys, payloads } = writeColumns(request, definition)
      const { ops, after, expireAt } = columns
      return { ops: fixed(ops, 1), keys, payloads, after: fixed(after, 8), expireAt: fixed(expireAt, 8) }
    }
  }
}

function fixed(column: WireColumn | undefined, width: number): Column | undefined {
  return column && { bytes: column.bytes, width }
}
