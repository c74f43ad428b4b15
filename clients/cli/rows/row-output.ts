import { once } from 'node:events'
import { extname } from 'node:path'
import { badRequest } from '../../../protocol/errors.js'
import type { QueryBatch } from '../../sdk/index.js'
import { flag, text } from '../command.js'
import { writeOutputFile } from '../output-file.js'
import { arrowStream } from './arrow-stream.js'
import { parquetFile } from './parquet-file.js'
import { terminalTable } from './terminal-table.js'
import { csvText, jsonText, ndjsonText } from './text-forms.js'

type Pieces = AsyncIterable<string | Uint8Array>

/** Each makes the pieces of a file of batches as they come. */
const FORMS: Readonly<Record<RowFormat, (batches: AsyncIterable<QueryBatch>) => Pieces>> = {
  table: (batches) => terminalTable(batches, process.stdout.columns ?? Number.POSITIVE_INFINITY),
  csv: csvText,
  json: jsonText,
  ndjson: ndjsonText,
  arrow: arrowStream,
  parquet: parquetFile,
}

const ROW_FORMATS = ['table', 'csv', 'json', 'ndjson', 'arrow', 'parquet'] as const
export type RowFormat = (typeof ROW_FORMATS)[number]

/** Options of commands that give rows. */
export const ROW_OPTIONS = {
  format: {
    choices: ROW_FORMATS,
    describe: 'Format of the rows [by the extension of --output; a table on a terminal, else ndjson]',
  },
  output: text('File to write the rows to [standard output]'),
  json: flag('A JSON object per row, as --format ndjson'),
} as const

export interface RowOptions {
  readonly format: RowFormat | undefined
  readonly output: string | undefined
  readonly json: boolean
}

/** The format that is said, or told by the file's name. @throws WarpdexError `BAD_REQUEST` */
export function rowFormat({ format, output, json }: RowOptions, otherwise: RowFormat = 'ndjson'): RowFormat {
  if (format !== undefined) return format
  if (json) return 'ndjson'
  if (output === undefined) return process.stdout.isTTY ? 'table' : otherwise
  const end = extname(output).slice(1).toLowerCase()
  const told = end === 'jsonl' ? 'ndjson' : ROW_FORMATS.find((known) => known === end)
  if (told !== undefined) return told
  throw badRequest(`${output} does not tell what it is to be; say --format ${ROW_FORMATS.join(', ')}`)
}

/**
 * Writes rows as they come, no faster than they are taken.
 * @param output a file, which is replaced when all rows are there; standard output without one
 * @throws WarpdexError `BAD_REQUEST` where the file cannot be written
 */
export async function writeRows(
  batches: AsyncIterable<QueryBatch>,
  format: RowFormat,
  output: string | undefined,
): Promise<void> {
  if (output !== undefined) return writeOutputFile(output, FORMS[format](batches))
  if (process.stdout.isTTY && (format === 'arrow' || format === 'parquet')) {
    throw badRequest(`${format} is not for terminals; say --output FILE`)
  }
  for await (const piece of FORMS[format](batches)) {
    if (!process.stdout.write(piece)) await once(process.stdout, 'drain')
  }
}
