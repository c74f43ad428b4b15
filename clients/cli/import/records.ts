import { badRequest, toWarpdexError } from '../../../protocol/errors.js'
import { parseCsv } from './csv.js'
import { jsonFields } from './json-line.js'
import { linesOf, type OnBadLine } from './text.js'

/** What one line of a file says: a text, or a value of JSON, for each column; undefined where it says nothing. */
export interface FileRecord {
  /** Counted from 1. */
  readonly line: number
  readonly cells: ReadonlyMap<string, unknown>
}

/**
 * The records of CSV whose first line names the columns. Cells are texts; an empty one says nothing.
 * @throws WarpdexError `BAD_REQUEST` that names the line
 */
export async function* csvRecords(
  pieces: AsyncIterable<string>,
  separator: string,
  onBadLine: OnBadLine,
): AsyncGenerator<FileRecord> {
  let heads: readonly string[] | undefined
  for await (const { record, line } of parseCsv(pieces, separator)) {
    if (heads === undefined) {
      heads = distinct(record, line)
    } else if (record.length !== heads.length) {
      onBadLine(
        badRequest(`line ${line}: it has ${record.length} columns; the first line names ${heads.length}`),
      )
    } else {
      const cells = new Map(heads.map((name, i) => [name, record[i] === '' ? undefined : record[i]]))
      yield { line, cells }
    }
  }
}

/** Names of columns, of which none comes twice: the first one's cells would be lost. */
function distinct(heads: readonly string[], line: number): readonly string[] {
  const double = heads.find((name, i) => heads.indexOf(name) < i)
  if (double === undefined) return heads
  throw badRequest(`line ${line}: it names the column ${JSON.stringify(double)} twice`)
}

/**
 * The records of NDJSON, an object a line.
 * @throws WarpdexError `BAD_REQUEST` that names the line
 */
export async function* jsonRecords(
  pieces: AsyncIterable<string>,
  onBadLine: OnBadLine,
): AsyncGenerator<FileRecord> {
  let line = 0
  for await (const text of linesOf(pieces)) {
    line++
    if (text.trim() === '') continue
    const cells = fieldsOf(text)
    if (cells instanceof Map) yield { line, cells }
    else onBadLine(badRequest(`line ${line}: ${cells}`))
  }
}

/** The fields of a line, or what is wrong with it. */
function fieldsOf(text: string): ReadonlyMap<string, unknown> | string {
  try {
    return jsonFields(text) ?? 'it is no JSON object'
  } catch (thrown) {
    return `it is no JSON: ${toWarpdexError(thrown).message}`
  }
}
