import type { DeviceWork } from '../../gpu/relational/query/device-work.js'
import { valueWords } from '../../gpu/relational/query/query-column.js'
import { type ReadValues, readValues } from '../../gpu/relational/query/read-values.js'
import type { Table } from '../../gpu/relational/query/table.js'
import { aligned, asBytes } from '../../protocol/columns.js'
import { LIMITS } from '../../protocol/limits.js'
import { type BatchColumn, type ResultBatch, TEXT_END_BYTES } from '../../protocol/query/result.js'
import type { ResultColumn } from '../../protocol/query/tree.js'
import type { TypedNode } from '../../protocol/query/typed.js'
import { execute } from './execute.js'
import type { QueryRun } from './query-run.js'

/** Rows of one word of a validity, of which batches have a multiple. */
const WORD_ROWS = 32

/** Carries a query out, and reads its rows; where there are none, a batch of none. */
export async function* resultBatches(
  run: QueryRun,
  node: TypedNode,
): AsyncGenerator<ResultBatch, void, undefined> {
  const columns = node.columns.map(({ name, type, nullable }) => ({ name, type, nullable }))
  const most = batchRows(columns)
  let wanted = most
  let isEmpty = true
  for await (const table of execute(run, node)) {
    for (let first = 0; first < table.rows; ) {
      run.refuse()
      const rows = Math.min(wanted, table.rows - first)
      const batch = await run.read(node, () => readBatch(run.work, table, columns, first, rows))
      first += batch.rows
      // After a short batch, of long strings, no more is read than twice its rows.
      wanted = Math.min(most, 2 * (batch.rows < rows ? batch.rows : wanted))
      isEmpty = false
      yield batch
    }
    run.drop(table)
  }
  if (isEmpty) yield emptyBatch(columns)
}

/** Rows of a batch of such columns, at most. Strings count as their numbers. */
export function batchRows(columns: readonly ResultColumn[]): number {
  const rowBytes = columns.reduce((sum, { type }) => sum + 4 * valueWords(type), 1)
  const rows = Math.floor(LIMITS.queryBatchBytes / rowBytes / WORD_ROWS) * WORD_ROWS
  return Math.max(WORD_ROWS, rows)
}

function emptyBatch(columns: readonly ResultColumn[]): ResultBatch {
  const empty = columns.map((column) => ({
    ...column,
    values: new Uint8Array(0),
    validity: undefined,
    texts: column.type === 'string' ? [] : undefined,
  }))
  return { rows: 0, columns: empty }
}

/**
 * Reads rows of a table: fewer than are asked for where their values and strings are more than `queryBatchBytes`, but one at least.
 * @param first any row
 * @returns a multiple of 32 rows, unless these are all that are asked for, or fewer than 32
 */
export async function readBatch(
  work: DeviceWork,
  table: Table,
  columns: readonly ResultColumn[],
  first: number,
  rows: number,
): Promise<ResultBatch> {
  // Bits are read by whole words of theirs.
  const isInPlace = first % WORD_ROWS === 0 && table.columns.every((column) => column.rows === undefined)
  const part = isInPlace ? table : table.slice(work, first, rows)
  const offset = part === table ? first : 0
  const sources = columns.map((_, i) => part.dense(work, i))
  const parts = await readValues(work, sources, offset, rows)
  const fitting = fittingRows(parts, rows)
  return { rows: fitting, columns: columns.map((column, i) => ({ ...column, ...cut(parts[i]!, fitting) })) }
}

/** Rows whose values and different strings are no more than a batch may have; one at least. */
function fittingRows(columns: readonly ReadValues[], rows: number): number {
  const strings = columns.flatMap(({ source: { dictionary }, values }) =>
    dictionary === undefined || dictionary.size === 0
      ? []
      : [{ dictionary, codes: aligned(values, Uint32Array), seen: new Set<number>() }],
  )
  if (strings.length === 0) return rows
  const rowBytes = columns.reduce((sum, { source }) => sum + 4 * valueWords(source.type), 0)
  let bytes = 0
  for (let row = 0; row < rows; row++) {
    bytes += rowBytes
    for (const { dictionary, codes, seen } of strings) {
      const code = codes[row]!
      if (seen.has(code)) continue
      seen.add(code)
      bytes += TEXT_END_BYTES + dictionary.bytesOf(code)
    }
    if (bytes > LIMITS.queryBatchBytes) return Math.max(1, row < WORD_ROWS ? row : row - (row % WORD_ROWS))
  }
  return rows
}

/** The first rows of a column; strings get numbers among those of the batch. A part is copied, lest it keep all that was read. */
function cut(
  { source: { type, dictionary }, values, validity }: ReadValues,
  rows: number,
): Pick<BatchColumn, 'values' | 'validity' | 'texts'> {
  const bytes = rows * 4 * valueWords(type)
  const own = bytes === values.byteLength ? values : values.slice(0, bytes)
  const bits = validity?.slice(0, Math.ceil(rows / 8))
  if (dictionary === undefined) return { values: own, validity: bits, texts: undefined }
  const codes = aligned(own, Uint32Array)
  const distinct = Uint32Array.from(new Set(codes)).sort()
  const places = new Map(Array.from(distinct, (code, place) => [code, place]))
  const texts = dictionary.size === 0 ? [] : Array.from(distinct, (code) => dictionary.at(code))
  return { values: asBytes(codes.map((code) => places.get(code)!)), validity: bits, texts }
}
