import type { Origin } from '../../../gpu/relational/order/column-facts.js'
import { sampleOf } from '../../../gpu/relational/query/read-sample.js'
import type { Table, TableColumn } from '../../../gpu/relational/query/table.js'
import { type RelationSample, SAMPLE_ROWS } from '../../../gpu/relational/relation-sample.js'
import type { ColumnFacts } from '../conditions/column-domain.js'
import type { QueryRun } from '../query-run.js'
import { type ColumnSample, columnSample, type EstimatedColumn } from './column-sample.js'

/** Of relations of less rows no sample is read: all of them are gone through in little more than the time that it takes. */
const SAMPLED_ROWS = 16 * SAMPLE_ROWS

/** What conditions over a table's columns are made with. */
export function factsOf({ source, rows }: TableColumn): ColumnFacts {
  const { type, dictionary, validity } = source
  return { type, dictionary, nullable: validity !== undefined || rows?.outer === true }
}

/** A column's values in the sample of its relation. */
export interface SampledValues {
  readonly sample: RelationSample
  /** Rows of the relation. */
  readonly of: number
  readonly values: ColumnSample
}

/**
 * What the sample of its relation has of a column, whichever rows were chosen since.
 * @returns undefined where it is a computed one, or no sample of it is at hand
 */
export function sampleAtHand(
  run: Pick<QueryRun, 'originOf'>,
  { source }: TableColumn,
): SampledValues | undefined {
  const origin = run.originOf(source)
  if (origin === undefined || source.type === 'boolean') return undefined
  const { relation, name } = origin
  const sample = relation.sample?.atHand(relation.rows)
  const column = sample?.columns.get(name)
  if (sample === undefined || column === undefined) return undefined
  return { sample, of: relation.rows, values: columnSample(sample, column, source.type) }
}

/**
 * The columns of a table, those that are asked for with what samples at hand have of them.
 * @param asked numbers of columns
 */
export function estimatedColumns(
  run: Pick<QueryRun, 'originOf'>,
  { columns }: Table,
  asked: ReadonlySet<number>,
): EstimatedColumn[] {
  const sources: { readonly sample: object; readonly rows: unknown; readonly source: symbol }[] = []
  // Rows of one relation that were put beside each other by different numbers have nothing to do with each other.
  const sourceOf = (sample: object, rows: unknown) => {
    const known = sources.find((each) => each.sample === sample && each.rows === rows)
    if (known !== undefined) return known.source
    const source = Symbol()
    sources.push({ sample, rows, source })
    return source
  }
  return columns.map((column, number) => {
    const found = asked.has(number) ? sampleAtHand(run, column) : undefined
    const from = found && { source: sourceOf(found.sample, column.rows), sample: found.values }
    return { ...factsOf(column), from }
  })
}

/** Reads samples of columns of large relations, where they are not at hand. */
export async function readSamples(run: QueryRun, table: Table, asked: ReadonlySet<number>): Promise<void> {
  const names = new Map<Origin['relation'], Set<string>>()
  for (const number of asked) {
    const origin = run.originOf(table.columns[number]!.source)
    if (origin === undefined || origin.relation.rows < SAMPLED_ROWS) continue
    names.set(origin.relation, (names.get(origin.relation) ?? new Set()).add(origin.name))
  }
  for (const [relation, columns] of names) await sampleOf(run.work, relation, [...columns])
}
