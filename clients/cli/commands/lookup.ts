import { badRequest } from '../../../protocol/errors.js'
import type { ColumnDefinition } from '../../../protocol/relation.js'
import { FILE_FORMATS, formatOf } from '../../sdk/files/file-formats.js'
import { FileReader } from '../../sdk/files/file-reader.js'
import { argument, command, flag, text } from '../command.js'
import { untilSignal } from '../interrupt.js'
import { enriched } from '../rows/enriched.js'
import { ROW_OPTIONS, rowFormat, writeRows } from '../rows/row-output.js'
import { CLIENT_OPTIONS, withIndex } from '../session.js'
import { withFile } from '../standard-input.js'

export const add = command({
  usage: 'lookup <file>',
  about: 'Add the payloads of an index to the rows of a file',
  positionals: { file: argument('CSV with a header line, TSV, NDJSON or Parquet; - for standard input') },
  options: {
    ...CLIENT_OPTIONS,
    index: { ...text('Name of the index'), demandOption: true },
    key: { ...text('Column of the file with the keys'), demandOption: true },
    as: { ...text('Name of the column that is added [payload]') },
    'file-format': { choices: FILE_FORMATS, describe: 'What the file is [by the extension]' },
    ...ROW_OPTIONS,
    hex: flag('Read string and bytes keys, and print bytes payloads, as hex digits'),
  },
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
        return withFile(file, fileFormat, signal, async (path) => {
          const kind = fileFormat ?? formatOf(path)
          if (kind === 'arrow') throw badRequest('lookup reads CSV, TSV, NDJSON and Parquet')
          const isText = kind === 'csv' || kind === 'tsv'
          const format = rowFormat(options, isText ? 'csv' : 'ndjson')
          const isVerbatim = isText && (format === 'csv' || format === 'table')
          const reader = await FileReader.open({ path, format: kind })
          try {
            const columns = columnsOf(reader, isVerbatim)
            const own = { ...options, index, definition, as: options.as ?? 'payload' }
            await writeRows(enriched(reader, columns, own, signal), format, options.output)
          } finally {
            reader.close()
          }
        })
      }),
    ),
})

/** The file's columns: texts as they stand where texts are written again, and where another type would lose something. */
function columnsOf({ columns }: FileReader, isVerbatim: boolean): readonly ColumnDefinition[] {
  return columns.map(({ name, type, loses }) => {
    return { name, type: isVerbatim || loses !== undefined ? 'string' : type, nullable: true }
  })
}
