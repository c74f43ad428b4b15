import { pipeline, Readable } from 'node:stream'
import { CsvError, type InfoRecord, parse } from 'csv-parse'
import { badRequest, type WarpdexError } from '../../../protocol/errors.js'

export interface CsvRecord {
  readonly record: readonly string[]
  /** Its first one, counted from 1. */
  readonly line: number
}

/** Counts lines as editors do. The parser counts both characters of a line end within quotes, and names a record's last line. */
class LineCount {
  #parsed = { lines: 0, empty_lines: 0 }
  #twice = 0

  /** Line in which what follows the last record begins. */
  begin({ empty_lines: empty }: Place): number {
    const { lines, empty_lines: emptyBefore } = this.#parsed
    return lines - this.#twice + empty - emptyBefore + 1
  }

  /** The parser's place as a line. */
  here({ lines }: Place): number {
    return lines - this.#twice
  }

  /** A record ends at the parser's place. */
  end(record: readonly string[], { lines, empty_lines }: Place): void {
    if (lines - this.#parsed.lines - (empty_lines - this.#parsed.empty_lines) > 1) {
      for (const cell of record) this.#twice += cell.split('\r\n').length - 1
    }
    this.#parsed = { lines, empty_lines }
  }
}

type Place = Pick<InfoRecord, 'lines' | 'empty_lines'>

/**
 * The records of CSV; empty lines are none.
 * @throws WarpdexError `BAD_REQUEST` that names the line; what the pieces throw, too
 */
export async function* parseCsv(
  pieces: AsyncIterable<string>,
  separator: string,
): AsyncGenerator<CsvRecord, void, undefined> {
  const count = new LineCount()
  /** Of the records that are not read yet. */
  const begins: number[] = []
  const parser = parse({
    delimiter: separator,
    relax_column_count: true,
    skip_empty_lines: true,
    bom: true,
    // Called for all records before a fault, of which the last ones may never be read.
    on_record: (record, place) => {
      begins.push(count.begin(place))
      count.end(record, place)
      return record
    },
  })
  // An error of the pieces ends the parser, whose reader gets it.
  pipeline(Readable.from(pieces), parser, () => {})
  const records: AsyncIterable<readonly string[]> = parser
  try {
    for await (const record of records) yield { record, line: begins.shift() ?? 0 }
  } catch (error) {
    throw error instanceof CsvError ? syntaxError(error, count) : error
  }
}

function syntaxError(error: CsvError, count: LineCount): WarpdexError {
  // What the parser knows of a record it knows of an error, too; its types do not say so.
  const { code, message, lines = 0, empty_lines = 0 } = error as CsvError & Partial<Place>
  const place = { lines, empty_lines }
  const where = `line ${count.here(place)}`
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return bad(
        `line ${count.begin(place)}: a quote that opens in the record which begins here is never closed`,
      )
    case 'INVALID_OPENING_QUOTE':
      return bad(
        `${where}: a quote stands inside a field; such a field is put in quotes, and the quote is doubled`,
      )
    case 'CSV_INVALID_CLOSING_QUOTE':
      return bad(
        `${where}: behind a closing quote neither the field nor the line ends; a quote in a field is doubled`,
      )
    default:
      return bad(`${where}: ${message}`)
  }
}

function bad(message: string): WarpdexError {
  return badRequest(`the file is no CSV: ${message}`)
}
