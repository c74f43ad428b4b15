import type { Table } from '../../../gpu/relational/query/table.js'
import type { QueryRun } from '../query-run.js'
import { COMMON_ROWS } from './key-matches.js'
import {
  evenSource,
  type NodeColumn,
  type NodeEstimate,
  type Source,
  unknownColumn,
} from './node-estimate.js'
import { factsOf, sampleAtHand } from './sampled-columns.js'

/**
 * What is thought of the values of a table that is there, from the samples that are at hand, so that nothing is waited for: as if its rows had been
 * chosen from their relations whatever their values.
 * @param indexed different values of columns, by their numbers, where an index knows
 */
export function estimateTable(
  run: Pick<QueryRun, 'originOf'>,
  table: Table,
  indexed: ReadonlyMap<number, number> = new Map(),
): NodeEstimate {
  const sources = new Map<symbol, Source>()
  const columns = table.columns.map((column, number): NodeColumn => {
    const facts = factsOf(column)
    const unknown = unknownColumn(facts, indexed.get(number))
    const sample = sampleAtHand(run, column)
    if (sample === undefined) return unknown
    const source = Symbol()
    sources.set(source, evenSource(sample.of, sample.values.rows, table.rows))
    return { ...unknown, from: { source, sample: sample.values } }
  })
  return { rows: table.rows, columns, sources, equal: [] }
}

/** Rows of the value that a column of such a table has most often, if one is common in its sample; 0 where none is. */
export function commonestRows({ sources }: NodeEstimate, { from }: NodeColumn): number {
  if (from === undefined) return 0
  const { places, values } = from.sample
  const counts = new Float64Array(values.length)
  for (const place of places) if (place >= 0) counts[place]!++
  const most = counts.reduce((most, count) => Math.max(most, count), 0)
  const [rowsOfEach = 0] = sources.get(from.source)?.weights ?? []
  return most >= COMMON_ROWS ? most * rowsOfEach : 0
}
