import type { DeviceColumn } from '../../gpu/device/device.js'
import type { DeviceWork } from '../../gpu/relational/query/device-work.js'
import { type QueryColumn, valueWords } from '../../gpu/relational/query/query-column.js'
import type { Table } from '../../gpu/relational/query/table.js'
import { asBytes } from '../../protocol/columns.js'
import { LIMITS } from '../../protocol/limits.js'
import type { BatchColumn, ResultBatch } from '../../protocol/query/result.js'
import type { ResultColumn } from '../../protocol/query/tree.js'

/** Rows of a batch are a multiple of what a word of a validity stands for. */
const ROWS_ALIGNED = 32

/** Rows of a batch of such columns. Strings count as their numbers. */
export function batchRows(columns: readonly ResultColumn[]): number {
  const rowBytes = columns.reduce((sum, { type }) => sum + 4 * valueWords(type), 1)
  const rows = Math.floor(LIMITS.queryBatchBytes / rowBytes / ROWS_ALIGNED) * ROWS_ALIGNED
  return Math.max(ROWS_ALIGNED, rows)
}

/**
 * Reads some rows of a table.
 * @param first a multiple of 32
 */
export async function readBatch(
  work: DeviceWork,
  table: Table,
  columns: readonly ResultColumn[],
  first: number,
  rows: number,
): Promise<ResultBatch> {
  const isDense = table.columns.every((column) => column.rows === undefined)
  const part = isDense ? table : table.slice(work, first, rows)
  const offset = part === table ? first : 0
  const sources = columns.map((_, i) => part.dense(work, i))
  const read = await work.readColumns(sources.flatMap((source) => places(source, offset, rows)))
  let next = 0
  const batch = columns.map((column, i): BatchColumn => {
    const source = sources[i]!
    const values = read[next++]!
    const validity = source.validity && read[next++]!
    return { ...column, ...withTexts(source, values), validity }
  })
  return { rows, columns: batch }
}

function places({ type, values, validity }: QueryColumn, first: number, rows: number): DeviceColumn[] {
  const bytes = 4 * valueWords(type)
  const column = { buffer: values, bytes: rows * bytes, offset: first * bytes }
  if (validity === undefined) return [column]
  return [column, { buffer: validity, bytes: Math.ceil(rows / 8), offset: first / 8 }]
}

/** Strings get numbers among those of the batch. */
function withTexts({ dictionary }: QueryColumn, values: Uint8Array): Pick<BatchColumn, 'values' | 'texts'> {
  if (dictionary === undefined) return { values, texts: undefined }
  const codes = new Uint32Array(values.buffer, values.byteOffset, values.byteLength / 4)
  const distinct = Uint32Array.from(new Set(codes)).sort()
  const places = new Map(Array.from(distinct, (code, place) => [code, place]))
  const texts = dictionary.size === 0 ? [] : Array.from(distinct, (code) => dictionary.at(code))
  return { values: asBytes(codes.map((code) => places.get(code)!)), texts }
}
