import { badRequest } from '../../../protocol/errors.js'
import type { FileReader } from '../../sdk/files/file-reader.js'
import { ResultVector } from '../../sdk/query/query-batch.js'
import { resultColumn } from '../rows/result-column.js'
import { linesOf, type OnBadLine } from './text.js'

/** Key and payload as a file has them. */
export interface Row {
  /** Of the file, or of a file with columns its row; counted from 1. */
  readonly line: number
  readonly key: string
  readonly payload: string
}

/** One key and payload a line. The payload goes to the end of the line: it may hold separators itself. */
export async function* splitRows(
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

/**
 * The rows of a file with columns; empty cells are empty texts.
 * @throws WarpdexError `BAD_REQUEST` for a column that the file lacks
 */
export async function* columnRows(
  reader: FileReader,
  columns: { readonly key: string; readonly payload: string },
  onBadLine: OnBadLine | undefined,
): AsyncGenerator<Row> {
  const wanted = [columns.key, columns.payload].map((name) => {
    if (reader.columns.some((column) => column.name === name))
      return { name, type: 'string', nullable: false } as const
    const names = reader.columns.map((column) => column.name).join(', ')
    throw badRequest(`there is no column ${JSON.stringify(name)}; the file has ${names}`)
  })
  let line = 0
  for await (const batch of reader.batches(wanted, onBadLine !== undefined)) {
    const [keys, payloads] = wanted.map((column) => new ResultVector(resultColumn(column, batch)))
    for (let row = 0; row < batch.rows; row++) {
      line++
      yield { line, key: String(keys.at(row)), payload: String(payloads.at(row)) }
    }
  }
  if (onBadLine !== undefined) for (const problem of await reader.rejected()) onBadLine(problem)
}
