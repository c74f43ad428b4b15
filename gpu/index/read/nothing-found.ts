import { blankColumn } from '../../../protocol/columns.js'
import { keyWidth, SEQUENCE_BYTES, tokenWidth } from '../../../protocol/types.js'
import type { ReadOp, ReadRequest, ReadResults } from '../../index-structure.js'
import { explainSequential } from '../partitions/traversals.js'
import { LATEST } from './due.js'
import { bitmapBytes, type ReadContext } from './read-context.js'
import type { Asked } from './read-operation.js'

/** What a read comes to where nothing is asked for, or nothing is there. */
type NothingFound<Op extends ReadOp> = (
  context: ReadContext,
  asked: Asked<Op>,
  request: ReadRequest<Op>,
) => ReadResults[Op]

export const NOTHING_FOUND: { readonly [Op in ReadOp]: NothingFound<Op> } = {
  get: ({ payloadBytes }, { count }, { withSequences }) => ({
    found: new Uint8Array(bitmapBytes(count)),
    payloads: blankColumn(count, payloadBytes),
    ...(withSequences && { sequences: blankColumn(count, SEQUENCE_BYTES) }),
  }),
  getAll: ({ payloadBytes }, { count }) => ({
    offsets: new Uint32Array(count + 1),
    payloads: blankColumn(0, payloadBytes),
  }),
  count: (_context, { count }) => new Uint8Array(4 * count),
  getNext: ({ keyType, payloadBytes }, { count }) => ({
    found: new Uint8Array(bitmapBytes(count)),
    keys: blankColumn(count, keyWidth(keyType)),
    payloads: blankColumn(count, payloadBytes),
    sequences: blankColumn(count, SEQUENCE_BYTES),
  }),
  scan: ({ keyType, payloadBytes }, _asked, { ranges }) => ({
    offsets: new Uint32Array(ranges + 1),
    keys: blankColumn(0, keyWidth(keyType)),
    payloads: blankColumn(0, payloadBytes),
    more: new Uint8Array(ranges),
    tokens: blankColumn(ranges, tokenWidth(keyType)),
  }),
  countRanges: (_context, { count }) => new BigUint64Array(count),
  due: ({ keyType, storedBytes }) => ({
    keys: blankColumn(0, keyWidth(keyType)),
    payloads: blankColumn(0, storedBytes),
    due: 0,
    next: LATEST,
    later: 0,
  }),
  explain: (context, { keys }) => explainSequential(context.batch(keys), undefined),
}
