import type { Argv } from 'yargs'
import { WarpdexError } from '../../../protocol/errors.js'
import {
  INSERT_MODES,
  type IndexDefinition,
  type InsertMode,
  isFixedKeyType,
} from '../../../protocol/types.js'
import { LoadError, type LoadResult } from '../../sdk/index.js'
import { parseColumnSpec } from '../import/column-spec.js'
import { Importer } from '../import/importer.js'
import type { OnBadLine } from '../import/records.js'
import { FILE_FORMATS, type FileFormat, importRelation } from '../import/relation-import.js'
import { type RowFormat, readRows } from '../import/rows.js'
import { openText } from '../import/text.js'
import { untilSignal } from '../interrupt.js'
import { grouped, printLines } from '../output.js'
import { type Progress, showProgress } from '../progress.js'
import { clientOptions, type ServerAddress, withClient, withIndex } from '../session.js'

/** What becomes of payloads that a key has, unless it is said. */
const DEFAULT_MODE: InsertMode = 'append'

/** What says something of a file for an index, and nothing of one for a relation. */
const OF_INDEXES = ['separator', 'key-column', 'payload-column', 'mode', 'hex'] as const

/** Bad lines that are reported one by one. */
const REPORTED_BAD_LINES = 10

export function addImport(cli: Argv): Argv {
  return cli.command(
    'import <index> [file]',
    'Store the keys and payloads of a file in an index, or its rows in a relation',
    (command) =>
      clientOptions(command)
        .positional('index', {
          type: 'string',
          demandOption: true,
          describe: 'Name of the index; with --relation the file',
        })
        .positional('file', {
          type: 'string',
          describe: 'UTF-8 text, one key and payload a line, or CSV; - for standard input',
        })
        .option('relation', {
          type: 'string',
          requiresArg: true,
          describe: 'Relation to append the rows of the file to: CSV with a head line, NDJSON or Arrow',
        })
        .option('columns', {
          type: 'string',
          requiresArg: true,
          describe: 'Columns of the relation, such as id:u32,city:string? [those that hold the first rows]',
        })
        .option('format', {
          choices: FILE_FORMATS,
          describe: 'What the file of a relation is [told by the end of its name]',
        })
        .option('separator', {
          type: 'string',
          requiresArg: true,
          describe:
            'What stands between key and payload: tab, comma or any text [the first tab or comma of a line; a tab where keys are no numbers]',
        })
        .option('key-column', {
          type: 'string',
          requiresArg: true,
          describe: 'CSV: name of the column with the keys',
        })
        .option('payload-column', {
          type: 'string',
          requiresArg: true,
          describe: 'CSV: that with the payloads',
        })
        .option('mode', {
          choices: INSERT_MODES,
          describe: `What becomes of payloads that a key has [${DEFAULT_MODE}]`,
        })
        .option('hex', {
          type: 'boolean',
          describe: 'Payloads of bytes and fixed(n), and keys that are string or bytes, are hex digits',
        })
        .option('skip-bad', { type: 'boolean', default: false, describe: 'Skip lines that cannot be read' })
        .implies({ 'key-column': 'payload-column', 'payload-column': 'key-column' })
        .implies({ columns: 'relation', format: 'relation' })
        .conflicts('relation', [...OF_INDEXES])
        .example(
          '$0 import cities cities.tsv',
          'a key, a tab or comma, and the payload to the end of the line',
        )
        .example('$0 import prices prices.csv --key-column id --payload-column cents', 'CSV with a head line')
        .example('zcat big.tsv.gz | $0 import big -', 'from standard input')
        .example('$0 import orders.csv --relation orders', 'rows of a relation, which is made if need be')
        .epilogue(
          'Lines are stored by a bulk load: in their order and in large chunks; what was stored before an error, or Ctrl-C, stays.',
        ),
    (options) =>
      options.relation === undefined ? importIndex(options) : importRows(options, options.relation),
  )
}

interface ImportIndexOptions extends ServerAddress, FormatOptions {
  readonly index: string
  readonly file: string | undefined
  readonly mode: InsertMode | undefined
  readonly hex: boolean | undefined
  readonly skipBad: boolean
}

async function importIndex(options: ImportIndexOptions): Promise<void> {
  const { file } = options
  if (file === undefined)
    throw new WarpdexError('BAD_REQUEST', 'name the file behind the index, or a --relation')
  return untilSignal((signal) =>
    withIndex(options, async (index, definition) => {
      const text = await openText(file, signal)
      const progress = showProgress(`importing into ${definition.name}`, text.size)
      const bad = badLines(options.skipBad)
      const importer = new Importer(index, definition, {
        mode: options.mode ?? DEFAULT_MODE,
        hex: options.hex ?? false,
        onBadLine: bad.report,
        onProgress: (stored) => progress.update(text.read(), rate(stored)),
        signal,
      })
      try {
        const stored = await importer.run(readRows(text.pieces, rowFormat(options, definition)))
        progress.stop()
        await printLines([summary(stored, bad.count())])
      } catch (error) {
        progress.stop()
        if (error instanceof LoadError && error.stored.rows > 0) {
          await printLines([summary(error.stored, bad.count())])
        }
        throw error
      }
    }),
  )
}

/** What becomes of lines that cannot be read: each is an error or, where they are skipped, the first ones are named. */
function badLines(skip: boolean): { readonly report: OnBadLine; readonly count: () => number } {
  let count = 0
  return {
    report: (problem) => {
      if (!skip) throw problem
      count++
      if (count <= REPORTED_BAD_LINES) process.stderr.write(`warpdex: skipped ${problem.message}\n`)
    },
    count: () => count,
  }
}

function skippedText(bad: number): string {
  return `${grouped(bad)} bad lines skipped`
}

interface ImportRowsOptions extends ServerAddress {
  readonly index: string
  readonly file: string | undefined
  readonly columns: string | undefined
  readonly format: FileFormat | undefined
  readonly skipBad: boolean
}

async function importRows(options: ImportRowsOptions, relation: string): Promise<void> {
  const { index: file, columns, format } = options
  if (options.file !== undefined) {
    throw new WarpdexError('BAD_REQUEST', 'with --relation there is one file, and no index')
  }
  const wanted = columns === undefined ? undefined : parseColumnSpec(columns)
  const bad = badLines(options.skipBad)
  return untilSignal((signal) =>
    withClient(options, async (client) => {
      const since = performance.now()
      let progress: Progress | undefined
      const rows = await importRelation(client, {
        file,
        relation,
        format,
        columns: wanted,
        onBadLine: options.skipBad ? bad.report : undefined,
        onProgress: (read, size, stored) => {
          progress ??= showProgress(`importing into ${relation}`, size)
          progress.update(read, `${grouped(stored)} rows`)
        },
        signal,
      }).finally(() => progress?.stop())
      const seconds = (performance.now() - since) / 1000
      const skipped = bad.count() > 0 ? `: ${skippedText(bad.count())}` : ''
      await printLines([
        `${grouped(rows)} rows, ${grouped(rows / seconds)}/s, in ${seconds.toFixed(1)} s${skipped}`,
      ])
    }),
  )
}

interface FormatOptions {
  readonly separator: string | undefined
  readonly keyColumn: string | undefined
  readonly payloadColumn: string | undefined
}

function rowFormat(
  { separator, keyColumn, payloadColumn }: FormatOptions,
  { keyType }: IndexDefinition,
): RowFormat {
  if (separator === '')
    throw new WarpdexError('BAD_REQUEST', '--separator is empty; it must be a text, tab or comma')
  const named = new Map([
    ['tab', '\t'],
    ['comma', ','],
  ])
  const columns =
    keyColumn === undefined || payloadColumn === undefined
      ? undefined
      : { key: keyColumn, payload: payloadColumn }
  // Texts and tuples may well hold commas themselves.
  const byDefault = isFixedKeyType(keyType) || columns !== undefined ? undefined : '\t'
  return { separator: separator === undefined ? byDefault : (named.get(separator) ?? separator), columns }
}

function rate({ rows, seconds }: LoadResult): string {
  return `${grouped(rows)} rows, ${grouped(rows / seconds)}/s`
}

function summary(stored: LoadResult, bad: number): string {
  const { inserted, replaced, existing, refused, seconds } = stored
  const outcomes = [
    `${grouped(inserted)} inserted`,
    ...(replaced > 0 ? [`${grouped(replaced)} replaced`] : []),
    ...(existing > 0 ? [`${grouped(existing)} not inserted: their keys are there already`] : []),
    ...(refused > 0 ? [`${grouped(refused)} refused: NaN is no key`] : []),
    ...(bad > 0 ? [skippedText(bad)] : []),
  ]
  return `${rate(stored)}, in ${seconds.toFixed(1)} s: ${outcomes.join(', ')}`
}
