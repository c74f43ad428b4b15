import type { Table } from '../../../gpu/relational/query/table.js'
import { COMMON_ROWS } from './key-matches.js'
import { evenSource, type NodeColumn, type NodeEstimate, unknownColumn } from './node-estimate.js'
import { tallyOf } from './sample-keys.js'
import { estimatedColumns, type Origins } from './sampled-columns.js'

/**
 * What is thought of the values of a table that is there, from the samples that are at hand, so that nothing is waited for: as if its rows had been
 * chosen from their relations whatever their values.
 * @param indexed different values of columns, by their numbers, where an index knows
 */
export function estimateTable(
  run: Origins,
  table: Table,
  indexed: ReadonlyMap<number, number> = new Map(),
): NodeEstimate {
  const columns = estimatedColumns(run, table, new Set(table.columns.keys()))
  const sources = columns.flatMap(({ from }) => {
    return from === undefined ? [] : [[from.source, evenSource(from.sample, table.rows)] as const]
  })
  return {
    rows: table.rows,
    columns: columns.map((column, number) => {
      return { ...unknownColumn(column, indexed.get(number)), from: column.from }
    }),
    sources: new Map(sources),
    equal: [],
  }
}

/** Rows of the value that a column of such a table has most often, if one is common in its sample; 0 where none is. */
export function commonestRows({ sources }: NodeEstimate, { from }: NodeColumn): number {
  const source = from && sources.get(from.source)
  if (from === undefined || source === undefined) return 0
  const { places, values } = from.sample
  const { sampled, rows } = tallyOf({ keys: places, count: values.length }, source)
  return rows.reduce((most, each, key) => (sampled[key]! >= COMMON_ROWS ? Math.max(most, each) : most), 0)
}
