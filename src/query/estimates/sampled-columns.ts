import { sampleOf } from '../../../gpu/relational/query/read-sample.js'
import type { Table, TableColumn } from '../../../gpu/relational/query/table.js'
import { type RelationSample, SAMPLE_ROWS } from '../../../gpu/relational/relation-sample.js'
import type { ColumnFacts } from '../conditions/column-domain.js'
import type { Origin, QueryRun } from '../query-run.js'
import { columnSample, type EstimatedColumn } from './column-sample.js'

/** Of relations of less rows no sample is read: all of them are gone through in little more than the time that it takes. */
const SAMPLED_ROWS = 16 * SAMPLE_ROWS

/** What conditions over a table's columns are made with. */
export function factsOf({ source, rows }: TableColumn): ColumnFacts {
  const { type, dictionary, validity } = source
  return { type, dictionary, nullable: validity !== undefined || rows?.outer === true }
}

/**
 * The columns of a table, those that are asked for with what is known of their values: a column that comes from a relation has the sample of that,
 * whichever rows were chosen before.
 */
export async function estimatedColumns(
  run: QueryRun,
  table: Table,
  asked: readonly number[],
): Promise<EstimatedColumn[]> {
  const samples = await readSamples(run, table, asked)
  const together = new Map<unknown, Map<unknown, object>>()
  return table.columns.map((column, number) => {
    const facts = factsOf(column)
    const origin = asked.includes(number) ? run.originOf(column.source) : undefined
    const sample = origin && samples.get(origin.relation)
    const sampled = origin && sample?.columns.get(origin.name)
    const { type } = facts
    if (sample === undefined || sampled === undefined || type === 'boolean') {
      return { ...facts, sample: undefined, sampleOf: undefined }
    }
    return {
      ...facts,
      sample: columnSample(sample, sampled, type),
      // Rows of one relation that were put beside each other by different numbers have nothing to do with each other.
      sampleOf: keyOf(together, sample, column.rows),
    }
  })
}

async function readSamples(
  run: QueryRun,
  table: Table,
  asked: readonly number[],
): Promise<Map<Origin['relation'], RelationSample>> {
  const names = new Map<Origin['relation'], string[]>()
  for (const number of asked) {
    const origin = run.originOf(table.columns[number]!.source)
    if (origin === undefined || !paysBySample(origin)) continue
    const known = names.get(origin.relation) ?? []
    names.set(origin.relation, [...known, origin.name])
  }
  const samples = new Map<Origin['relation'], RelationSample>()
  for (const [relation, columns] of names) {
    const sample = await sampleOf(run.work, relation, [...new Set(columns)])
    if (sample !== undefined) samples.set(relation, sample)
  }
  return samples
}

/** Samples that are at hand cost nothing. */
function paysBySample({ relation: { rows, sample }, name }: Origin): boolean {
  return rows >= SAMPLED_ROWS || sample?.atHand(rows)?.columns.has(name) === true
}

function keyOf(together: Map<unknown, Map<unknown, object>>, sample: object, rows: unknown): object {
  const ofSample = together.get(sample) ?? new Map<unknown, object>()
  together.set(sample, ofSample)
  const key = ofSample.get(rows) ?? {}
  ofSample.set(rows, key)
  return key
}
