import type { Origin } from '../../../gpu/relational/order/column-facts.js'
import { sampleOf } from '../../../gpu/relational/query/read-sample.js'
import { Table, type TableColumn } from '../../../gpu/relational/query/table.js'
import { SAMPLE_ROWS } from '../../../gpu/relational/relation-sample.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import { inputsOf, type TypedNode } from '../../../protocol/query/typed.js'
import type { ColumnDomain } from '../conditions/column-domain.js'
import type { QueryRun } from '../query-run.js'
import { type ColumnSample, columnSample, type EstimatedColumn } from './column-sample.js'

/** Of relations of less rows a selection reads no sample: all of them are gone through in little more than the time that it takes. */
const SAMPLED_ROWS = 16 * SAMPLE_ROWS

/** What tells of a table's columns where they come from. */
export type Origins = Pick<QueryRun, 'originOf'>

/** What conditions over a table's columns are made with. */
export function domainOf({ source, rows }: TableColumn): ColumnDomain {
  const { type, dictionary, validity } = source
  return { type, dictionary, nullable: validity !== undefined || rows?.outer === true }
}

/**
 * The columns of a table, those that are asked for with what samples of their relations have of them, whichever rows were chosen since. Computed ones,
 * and those of which no sample is at hand, have none.
 * @param asked numbers of columns
 */
export function estimatedColumns(
  run: Origins,
  { columns }: Table,
  asked: ReadonlySet<number>,
): EstimatedColumn[] {
  // Rows of one relation that were put beside each other by different numbers have nothing to do with each other.
  const sources = new Map<Origin['relation'], Map<TableColumn['rows'], symbol>>()
  const sourceOf = (relation: Origin['relation'], rows: TableColumn['rows']) => {
    const ofRelation = getOrInsert(sources, relation, () => new Map())
    return getOrInsert(ofRelation, rows, () => Symbol())
  }
  return columns.map((column, number) => {
    const origin = asked.has(number) ? run.originOf(column.source) : undefined
    const sample = origin && sampleAtHand(origin, column)
    const from = sample && { source: sourceOf(origin.relation, column.rows), sample }
    return { ...domainOf(column), from }
  })
}

function sampleAtHand({ relation, name }: Origin, { source }: TableColumn): ColumnSample | undefined {
  if (source.type === 'boolean') return undefined
  const sample = relation.sample?.atHand(relation.rows)
  const column = sample?.columns.get(name)
  return sample && column && columnSample(sample, column, source.type)
}

/** Reads samples of columns of large relations, where they are not at hand. */
export async function readSamples(
  run: QueryRun,
  table: Table,
  asked: ReadonlySet<number>,
  leastRows: number = SAMPLED_ROWS,
): Promise<void> {
  const names = new Map<Origin['relation'], Set<string>>()
  for (const number of asked) {
    const origin = run.originOf(table.columns[number]!.source)
    if (origin === undefined || origin.relation.rows < leastRows) continue
    getOrInsert(names, origin.relation, () => new Set()).add(origin.name)
  }
  for (const [relation, columns] of names) await sampleOf(run.work, relation, [...columns])
}

/** Reads samples of all columns that a tree reads, where they are not at hand. */
export async function readAllSamples(run: QueryRun, node: TypedNode): Promise<void> {
  if (node.op === 'scan') {
    await readSamples(run, Table.ofRelation(run.relation(node.relation)), new Set(node.kept), 0)
  }
  for (const input of inputsOf(node)) await readAllSamples(run, input)
}
