import { badRequest } from '../../../protocol/errors.js'
import { parseCsv } from './csv.js'
import { linesOf, type OnBadLine } from './text.js'

/** Key and payload as a file has them. */
export interface Row {
  /** Counted from 1. */
  readonly line: number
  readonly key: string
  readonly payload: string
}

/** How a file is read. */
export interface RowFormat {
  /** What separates a key and its payload, or CSV columns; by default a tab or a comma, and for CSV a comma. */
  readonly separator: string | undefined
  /** Names of CSV columns in the file's first line; without them every line is a key and its payload. */
  readonly columns: { readonly key: string; readonly payload: string } | undefined
}

/** The rows of a text, as they are read. */
export function readRows(
  pieces: AsyncIterable<string>,
  { separator, columns }: RowFormat,
  onBadLine: OnBadLine,
): AsyncIterable<Row> {
  if (columns === undefined) return splitRows(pieces, separator, onBadLine)
  return csvRows(pieces, separator ?? ',', columns, onBadLine)
}

/** One key and payload a line. The payload goes to the end of the line: it may hold separators itself. */
async function* splitRows(
  pieces: AsyncIterable<string>,
  separator: string | undefined,
  onBadLine: OnBadLine,
): AsyncGenerator<Row> {
  let line = 0
  for await (const text of linesOf(pieces)) {
    line++
    if (text === '') continue
    const at = separator === undefined ? text.search(/[\t,]/) : text.indexOf(separator)
    if (at < 0) {
      const expected = separator === undefined ? 'tab or comma' : JSON.stringify(separator)
      onBadLine(badRequest(`line ${line}: there is no ${expected} between a key and a payload`))
    } else {
      yield { line, key: text.slice(0, at), payload: text.slice(at + (separator?.length ?? 1)) }
    }
  }
}

async function* csvRows(
  pieces: AsyncIterable<string>,
  separator: string,
  columns: { readonly key: string; readonly payload: string },
  onBadLine: OnBadLine,
): AsyncGenerator<Row> {
  let at: { readonly key: number; readonly payload: number } | undefined
  for await (const { record, line } of parseCsv(pieces, separator)) {
    if (at === undefined) {
      at = { key: findColumn(record, columns.key), payload: findColumn(record, columns.payload) }
      continue
    }
    const key = record[at.key]
    const payload = record[at.payload]
    if (key !== undefined && payload !== undefined) yield { line, key, payload }
    else {
      const problem = `the line has ${record.length} columns, and the key and the payload are number ${at.key + 1} and ${at.payload + 1}`
      onBadLine(badRequest(`line ${line}: ${problem}`))
    }
  }
}

function findColumn(heads: readonly string[], name: string): number {
  const at = heads.indexOf(name)
  if (at >= 0) return at
  throw badRequest(`there is no column ${JSON.stringify(name)}; the first line names ${heads.join(', ')}`)
}
