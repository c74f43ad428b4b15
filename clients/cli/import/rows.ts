import { badRequest } from '../../../protocol/errors.js'
import { parseCsv } from './csv.js'

/** Key and payload as a file has them, or what is wrong with the line. */
export interface Row {
  /** Counted from 1. */
  readonly line: number
  readonly cells: { readonly key: string; readonly payload: string } | { readonly problem: string }
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
): AsyncIterable<Row> {
  if (columns === undefined) return splitRows(pieces, separator)
  return csvRows(pieces, separator ?? ',', columns)
}

/** One key and payload a line. The payload goes to the end of the line: it may hold separators itself. */
async function* splitRows(pieces: AsyncIterable<string>, separator: string | undefined): AsyncGenerator<Row> {
  let line = 0
  for await (const text of lines(pieces)) {
    line++
    if (text === '') continue
    const at = separator === undefined ? text.search(/[\t,]/) : text.indexOf(separator)
    if (at < 0) {
      const expected = separator === undefined ? 'tab or comma' : JSON.stringify(separator)
      yield { line, cells: { problem: `there is no ${expected} between a key and a payload` } }
    } else {
      const payload = text.slice(at + (separator?.length ?? 1))
      yield { line, cells: { key: text.slice(0, at), payload } }
    }
  }
}

/** The lines of a text, without their ends. */
export async function* lines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of pieces) {
    const parts = (rest + piece).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) yield part.endsWith('\r') ? part.slice(0, -1) : part
  }
  if (rest !== '') yield rest
}

async function* csvRows(
  pieces: AsyncIterable<string>,
  separator: string,
  columns: { readonly key: string; readonly payload: string },
): AsyncGenerator<Row> {
  let at: { readonly key: number; readonly payload: number } | undefined
  for await (const { record, line } of parseCsv(pieces, separator)) {
    if (at === undefined) {
      at = { key: findColumn(record, columns.key), payload: findColumn(record, columns.payload) }
      continue
    }
    const key = record[at.key]
    const payload = record[at.payload]
    const isShort = key === undefined || payload === undefined
    const problem = `the line has ${record.length} columns, and the key and the payload are number ${at.key + 1} and ${at.payload + 1}`
    yield { line, cells: isShort ? { problem } : { key, payload } }
  }
}

function findColumn(heads: readonly string[], name: string): number {
  const at = heads.indexOf(name)
  if (at >= 0) return at
  throw badRequest(`there is no column ${JSON.stringify(name)}; the first line names ${heads.join(', ')}`)
}
