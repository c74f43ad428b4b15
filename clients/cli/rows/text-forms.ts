import type { Cell, QueryBatch, ResultVector } from '../../sdk/index.js'
import { showNumber } from '../number-keys.js'

/** A value as a text; null where there is none. Floats have as few digits as tell them apart. */
export function cellText({ type }: ResultVector, cell: Cell): string | null {
  if (cell === null) return null
  return typeof cell === 'number' && type === 'f32' ? showNumber(cell, type) : String(cell)
}

/** CSV with a header line. A missing value is an empty cell, and an empty text one in quotes. */
export async function* csvText(batches: AsyncIterable<QueryBatch>): AsyncGenerator<string> {
  let isFirst = true
  for await (const { columns, length } of batches) {
    const lines = isFirst ? [columns.map(({ name }) => csvCell(name)).join(',')] : []
    isFirst = false
    for (let row = 0; row < length; row++) {
      lines.push(columns.map((column) => csvCell(cellText(column, column.at(row)))).join(','))
    }
    if (lines.length > 0) yield `${lines.join('\n')}\n`
  }
}

function csvCell(text: string | null): string {
  if (text === null) return ''
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A JSON object a line. */
export async function* ndjsonText(batches: AsyncIterable<QueryBatch>): AsyncGenerator<string> {
  for await (const batch of batches) {
    const lines = Array.from(batch.rows(), rowText)
    if (lines.length > 0) yield `${lines.join('\n')}\n`
  }
}

/** A list of JSON objects. */
export async function* jsonText(batches: AsyncIterable<QueryBatch>): AsyncGenerator<string> {
  let before = '[\n'
  for await (const batch of batches) {
    const lines = Array.from(batch.rows(), rowText)
    if (lines.length === 0) continue
    yield before + lines.join(',\n')
    before = ',\n'
  }
  yield before === '[\n' ? '[]\n' : '\n]\n'
}

function rowText(row: Record<string, Cell>): string {
  // JSON has neither numbers of 64 bits nor NaN and infinities, which would be null.
  const isText = (cell: Cell) =>
    typeof cell === 'bigint' || (typeof cell === 'number' && !Number.isFinite(cell))
  return JSON.stringify(row, (_, cell: Cell) => (isText(cell) ? String(cell) : cell))
}
