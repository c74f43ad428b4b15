import { badRequest } from '../../../protocol/errors.js'
import { type IndexDefinition, isFixedKeyType } from '../../../protocol/types.js'
import { FILE_FORMATS } from '../../sdk/files/file-formats.js'
import { FileReader } from '../../sdk/files/file-reader.js'
import { type ImportProgress, type Index, LoadError, type LoadResult } from '../../sdk/index.js'
import { argument, command, flag, type Given, JSON_OUTCOME, text } from '../command.js'
import { parseColumnSpec } from '../import/column-spec.js'
import { Importer } from '../import/importer.js'
import { columnRows, type Row, splitRows } from '../import/rows.js'
import { type OnBadLine, openText } from '../import/text.js'
import { untilSignal } from '../interrupt.js'
import { bytesText, grouped, printOutcome } from '../output.js'
import { type Progress, showProgress } from '../progress.js'
import { parseSeparator } from '../separator.js'
import { CLIENT_OPTIONS, withClient, withIndex } from '../session.js'
import { withFile } from '../standard-input.js'

/** What says something of a file for an index, and nothing of one for a relation. */
const OF_INDEXES = ['key-column', 'payload-column', 'if-exists', 'hex'] as const

/** Bad lines that are reported one by one. */
const REPORTED_BAD_LINES = 10

const POSITIONALS = {
  target: argument('Name of the index; with --relation the file'),
  file: {
    type: 'string',
    describe: 'For an index the file: UTF-8 text, one key and payload per line, or CSV; - for standard input',
  },
} as const

const OPTIONS = {
  ...CLIENT_OPTIONS,
  relation: {
    ...text('Relation to append the rows of the file to: CSV with a header line, NDJSON, Parquet or Arrow'),
    conflicts: OF_INDEXES,
  },
  columns: {
    ...text('Types of columns instead of inferred ones, such as id:u32,city:string?'),
    implies: 'relation',
  },
  format: {
    choices: FILE_FORMATS,
    describe: 'Format of a file with columns [by the extension; with --key-column csv]',
  },
  separator: text(
    'Separator of key and payload, or of columns of CSV: tab, comma or any text [the first tab or comma of a line; a tab if keys are not numbers; of CSV a comma]',
  ),
  'key-column': { ...text('Column with the keys, if the file has named columns'), implies: 'payload-column' },
  'payload-column': { ...text('Column with the payloads'), implies: 'key-column' },
  'if-exists': {
    choices: ['add', 'keep', 'replace'],
    describe: 'What to do with a payload whose key exists [add]',
  },
  // Without a default, which would count as given beside --relation.
  hex: {
    type: 'boolean',
    describe: 'Read payloads of bytes and fixed(n), and string or bytes keys, as hex digits',
  },
  'skip-bad': flag('Skip lines that cannot be read'),
  json: JSON_OUTCOME,
} as const

type ImportOptions = Given<typeof POSITIONALS & typeof OPTIONS>

export const add = command({
  usage: 'import <target> [file]',
  about: 'Store the keys and payloads of a file in an index, or its rows in a relation',
  positionals: POSITIONALS,
  options: OPTIONS,
  examples: [
    ['$0 import cities cities.tsv', 'a key, a tab or comma, and the payload to the end of the line'],
    ['$0 import prices prices.csv --key-column id --payload-column cents', 'CSV with a header line'],
    ['zcat big.tsv.gz | $0 import big -', 'from standard input'],
    ['$0 import orders.csv --relation orders', 'rows of a relation, which is created if missing'],
    [`$0 import orders.csv --relation orders --separator ';'`, 'the same, from CSV with semicolons'],
  ],
  epilogue: 'Lines are stored in order and in large chunks; what was stored before an error or Ctrl-C stays.',
  run: (options) =>
    untilSignal((signal) => {
      const { relation } = options
      return relation === undefined ? importIndex(options, signal) : importRows(options, relation, signal)
    }),
})

async function importIndex(options: ImportOptions, signal: AbortSignal): Promise<void> {
  const { file, keyColumn, payloadColumn } = options
  if (file === undefined) throw badRequest('name the file behind the index, or a --relation')
  const bad = badLines(options.skipBad)
  return withIndex({ ...options, index: options.target }, async (index, definition) => {
    if (keyColumn === undefined || payloadColumn === undefined) {
      if (options.format !== undefined) throw badRequest('--format is for files with --key-column')
      const text = await openText(file, signal)
      const rows = splitRows(text.pieces, separatorOf(options, definition), bad.report)
      return loadRows(
        { rows, unit: 'line', size: text.size, read: text.read },
        index,
        definition,
        options,
        bad,
        signal,
      )
    }
    const format = options.format ?? 'csv'
    if (format === 'arrow') throw badRequest('keys and payloads come from CSV, TSV, NDJSON or Parquet')
    await withFile(file, format, signal, async (path) => {
      const reader = await FileReader.open({ path, format, separator: parseSeparator(options.separator) })
      try {
        const columns = { key: keyColumn, payload: payloadColumn }
        const rows = columnRows(reader, columns, options.skipBad ? bad.report : undefined)
        const source = { rows, unit: 'row', size: 1, read: () => reader.share } as const
        await loadRows(source, index, definition, options, bad, signal)
      } finally {
        reader.close()
      }
    })
  })
}

/** Rows, and how many of the units of their size are read. */
interface RowSource {
  readonly rows: AsyncIterable<Row>
  readonly unit: 'line' | 'row'
  readonly size: number | undefined
  readonly read: () => number
}

async function loadRows(
  source: RowSource,
  index: Index,
  definition: IndexDefinition,
  { ifExists = 'add', hex = false, json }: ImportOptions,
  bad: BadLines,
  signal: AbortSignal,
): Promise<void> {
  const progress = showProgress(`importing into ${definition.name}`, source.size)
  const importer = new Importer(index, definition, {
    ifExists,
    hex,
    unit: source.unit,
    onBadLine: bad.report,
    onProgress: (stored) => progress.update(source.read(), rate(stored)),
    signal,
  })
  let stored: LoadResult | undefined
  try {
    stored = await importer.run(source.rows)
  } catch (error) {
    if (error instanceof LoadError && error.stored.rows > 0) stored = error.stored
    throw error
  } finally {
    progress.stop()
    if (stored !== undefined) {
      await printOutcome(json, summary(stored, bad.count()), { ...stored, skipped: bad.count() })
    }
  }
}

async function importRows(options: ImportOptions, relation: string, signal: AbortSignal): Promise<void> {
  const { target: file, columns, format, skipBad } = options
  if (options.file !== undefined) throw badRequest('with --relation there is one file, and no index')
  const wanted = columns === undefined ? undefined : parseColumnSpec(columns)
  const bad = badLines(skipBad)
  return withClient(options, async (client) => {
    const since = performance.now()
    let progress: Progress | undefined
    const { rows } = await withFile(file, format, signal, (path) =>
      client.importFile(path, {
        relation,
        format,
        separator: parseSeparator(options.separator),
        columns: wanted,
        onBadLine: skipBad ? bad.report : undefined,
        onProgress: ({ rows, bytes, size }: ImportProgress) => {
          progress ??= showProgress(`importing into ${relation}`, size)
          progress.update(bytes, `${grouped(rows)} rows, ${bytesText(bytes)} of ${bytesText(size)}`)
        },
        signal,
      }),
    ).finally(() => progress?.stop())
    const seconds = (performance.now() - since) / 1000
    const skipped = bad.count() > 0 ? `: ${skippedText(bad.count())}` : ''
    const line = `${grouped(rows)} rows, ${grouped(rows / seconds)}/s, in ${seconds.toFixed(1)} s${skipped}`
    await printOutcome(options.json, line, { rows, seconds, skipped: bad.count() })
  })
}

interface BadLines {
  readonly report: OnBadLine
  readonly count: () => number
}

/** What becomes of lines that cannot be read: each is an error or, where they are skipped, the first ones are named. */
function badLines(skip: boolean): BadLines {
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

/** Without one it is told by each line, but texts and tuples may well hold commas themselves. */
function separatorOf({ separator }: ImportOptions, { keyType }: IndexDefinition): string | undefined {
  return parseSeparator(separator) ?? (isFixedKeyType(keyType) ? undefined : '\t')
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
    ...(refused > 0 ? [`${grouped(refused)} refused: NaN is not a key`] : []),
    ...(bad > 0 ? [skippedText(bad)] : []),
  ]
  return `${rate(stored)}, in ${seconds.toFixed(1)} s: ${outcomes.join(', ')}`
}
