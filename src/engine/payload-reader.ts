import type { ReadOp, ReadRequest, ReadResults } from '../../gpu/index-structure.js'
import type { PayloadStore } from '../../persistence/payloads/payload-store.js'
import { aligned, countOf } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'

/** Room that a reply has for payloads beside its other columns. */
const PAYLOAD_BYTES = LIMITS.frameBytes / 2

/**
 * Reads with payloads of kind `bytes` in the place of the rows that a structure returns for them: four words each, row id first. They fit into
 * one reply: a scan has a lower limit than was asked for where they would not.
 *
 * @param readRows reads what the structure has
 * @throws WarpdexError `TOO_LARGE` when they do not fit, of a scan not even one entry a range
 */
export async function readPayloads<Op extends ReadOp>(
  store: PayloadStore,
  index: number,
  readRows: (request: ReadRequest<Op>) => Promise<ReadResults[Op]>,
  request: ReadRequest<Op>,
): Promise<ReadResults[Op]> {
  // Rows do not leave the process.
  const result: ReadResults[ReadOp] = await readRows({ ...request, memory: undefined })
  // What is cast here has the type of the result, with other payloads.
  if (!('payloads' in result)) return result as ReadResults[Op]
  const { bytes: rows } = result.payloads
  const payloads = await store.gather(index, {
    rows: aligned(rows, Uint32Array),
    stride: 4,
    // As many leading rows as fit, of those that count.
    present: 'found' in result ? result.found : undefined,
    maxBytes: PAYLOAD_BYTES,
  })
  const fitting = countOf(payloads)
  if (fitting === countOf(result.payloads)) return { ...result, payloads } as ReadResults[Op]
  const limit = !('limit' in request && 'ranges' in request)
    ? 0
    : request.ranges === 1
      ? fitting
      : request.limit >> 1
  if (limit > 0) return readPayloads(store, index, readRows, { ...request, limit })
  throw new WarpdexError(
    'TOO_LARGE',
    `the payloads take more than the ${PAYLOAD_BYTES} bytes that one reply has for them; ask for less at a time`,
  )
}
