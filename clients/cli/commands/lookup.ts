import { badRequest } from '../../../protocol/errors.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import type { IndexDefinition } from '../../../protocol/types.js'
import { FILE_FORMATS, formatOf } from '../../sdk/files/file-formats.js'
import { FileReader } from '../../sdk/files/file-reader.js'
import type { Index } from '../../sdk/index.js'
import { argument, command, flag, type Given, text } from '../command.js'
import { untilSignal } from '../interrupt.js'
import { grouped, printLines } from '../output.js'
import { enriched } from '../rows/enriched.js'
import { ROW_OPTIONS, rowFormat, writeRows } from '../rows/row-output.js'
import { parseSeparator } from '../separator.js'
import { CLIENT_OPTIONS, withIndex } from '../session.js'
import { withFile } from '../standard-input.js'

/** What DuckDB reads. */
const LOOKUP_FORMATS = FILE_FORMATS.filter((format) => format !== 'arrow')

const ADVICE = `say --file-format ${LOOKUP_FORMATS.join(', ')}`

const POSITIONALS = {
  file: argument('CSV with a header line, TSV, NDJSON or Parquet; - for standard input'),
} as const

const OPTIONS = {
  ...CLIENT_OPTIONS,
  index: { ...text('Name of the index'), demandOption: true },
  key: { ...text('Column of the file with the keys'), demandOption: true },
  as: { ...text('Name of the column that is added [payload]') },
  'file-format': { choices: LOOKUP_FORMATS, describe: 'What the file is [by the extension]' },
  separator: text('Separator of columns of CSV: tab, comma or any text [a comma]'),
  ...ROW_OPTIONS,
  hex: flag('Read string and bytes keys, and print bytes payloads, as hex digits'),
} as const

type LookupOptions = Given<typeof POSITIONALS & typeof OPTIONS>

export const add = command({
  usage: 'lookup <file>',
  about: 'Add the payloads of an index to the rows of a file',
  positionals: POSITIONALS,
  options: OPTIONS,
  examples: [
    ['$0 lookup events.csv --index cities --key city_id', 'the rows with one more column'],
    ['$0 lookup events.parquet --index prices --key id --as cents --output priced.parquet', 'into a file'],
  ],
  epilogue:
    'A row whose key is missing or not found gets no payload; a key with several payloads gives the first. Where neither --format nor --output says otherwise, CSV stays CSV in a pipe.',
  run: (options) =>
    untilSignal((signal) =>
      withIndex(options, (index, definition) => {
        const { file, fileFormat } = options
        const work = (path: string) => lookUp(path, index, definition, options, signal)
        return withFile(file, fileFormat, signal, work, ADVICE)
      }),
    ),
})

async function lookUp(
  path: string,
  index: Index,
  definition: IndexDefinition,
  options: LookupOptions,
  signal: AbortSignal,
): Promise<void> {
  const { fileFormat, output, as = 'payload' } = options
  const kind = fileFormat ?? formatOf(path, ADVICE)
  if (kind === 'arrow') throw badRequest('lookup reads CSV, TSV, NDJSON and Parquet')
  const isText = kind === 'csv' || kind === 'tsv'
  const format = rowFormat(options, isText ? 'csv' : 'ndjson')
  const isVerbatim = isText && (format === 'csv' || format === 'table')
  const separator = parseSeparator(options.separator)
  const reader = await FileReader.open({ path, format: kind, separator })
  let rows = 0
  let found = 0
  const count = (ofBatch: number, foundOfBatch: number) => {
    rows += ofBatch
    found += foundOfBatch
  }
  try {
    const lookup = { ...options, index, definition, as, count }
    await writeRows(enriched(reader, columnsOf(reader, isVerbatim), lookup, signal), format, output)
  } finally {
    reader.close()
  }
  if (output !== undefined) await printLines([`${grouped(rows)} rows, ${grouped(found)} of them found`])
}

/** The file's columns: texts as they stand where texts are written again, and where another type would lose something. */
function columnsOf({ columns }: FileReader, isVerbatim: boolean): readonly ColumnDefinition[] {
  return columns.map(({ name, type, loses }) => {
    return { name, type: isVerbatim || loses !== undefined ? 'string' : type, nullable: true }
  })
}
