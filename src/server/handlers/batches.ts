import type { BatchPart } from '../../../protocol/batch.js'
import type { DataRequest } from '../../../protocol/data-request.js'
import { toWarpdexError, type WarpdexError } from '../../../protocol/errors.js'
import { batchFromSections } from '../../../protocol/relation-sections.js'
import { expectColumns, writeColumns } from '../../../protocol/request-columns.js'
import type { AtomicBatch } from '../../engine/atomic-batch.js'
import type { Engine } from '../../engine/engine.js'
import { authorise, authoriseData } from '../access/rights.js'
import { indexesFor, type RequestContext } from './context.js'
import { requireSpread } from './spread.js'

/**
 * What the parts of a batch come to, each of which its asker must have the right to.
 * @throws WarpdexError `UNAUTHORISED`, and what each would be refused with alone; what conditions would is the batch's `refusal`
 */
export function batchOf(
  engine: Engine,
  parts: readonly BatchPart[],
  writeId: number | undefined,
  context: RequestContext,
): AtomicBatch {
  const { grant, call } = context
  const indexes = indexesFor(engine, writeId, context)
  const writes: AtomicBatch['writes'][number][] = []
  const appends: AtomicBatch['appends'][number][] = []
  const conditions: AtomicBatch['conditions'][number][] = []
  let refusal: WarpdexError | undefined
  const expect = (part: DataRequest) => {
    const index = authoriseData(grant, part, indexes)
    conditions.push({ index, ...expectColumns(part, index.definition) })
  }
  for (const part of parts) {
    if (part.op === 'append') {
      authorise(grant, { id: call.request.id, ...part })
      const relation = engine.relation(part.relation)
      requireSpread(relation.definition, part.spread)
      appends.push({ relation, rows: batchFromSections(part.columns, part.rows, relation.definition) })
      continue
    }
    if (part.op === 'expect') {
      // A batch that was done is answered as it was, also where an index that it had conditions on is no more.
      try {
        expect(part)
      } catch (thrown) {
        refusal ??= toWarpdexError(thrown)
      }
      continue
    }
    const index = authoriseData(grant, part, indexes)
    const columns = { ...writeColumns(part, index.definition), traversal: part.traversal }
    writes.push({ index, columns })
  }
  return { writes, appends, conditions, refusal }
}
