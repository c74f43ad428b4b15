import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { badRequest, toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import { installCommand } from '../../../protocol/optional-packages.js'
import { quotedText } from '../../../protocol/shown.js'

/** DuckDB in this process, and its own functions on vectors. */
export interface DuckDB {
  readonly connection: DuckDBConnection
  readonly bindings: typeof import('@duckdb/node-bindings')
}

/** How far a stream reads ahead for each thread, which is more than one takes of a file at a time, and in all. */
const READ_AHEAD_MIB = 32
const MOST_READ_AHEAD_MIB = 512

/**
 * Opens an empty database.
 * @param directory where it keeps what does not fit into memory
 * @throws WarpdexError `BAD_REQUEST` that names the package to install
 */
export async function openDuckDB(directory?: string): Promise<DuckDB> {
  const { DuckDBInstance, bindings } = await load()
  const path = directory === undefined ? ':memory:' : `${directory}/result.duckdb`
  const connection = await (await DuckDBInstance.create(path)).connect()
  // Files are read in their order; progress is asked for.
  await connection.run('set preserve_insertion_order = true; set enable_progress_bar = true')
  // Rows come in order, so that all but one thread of a stream can only read ahead.
  const ahead = Math.min(availableParallelism() * READ_AHEAD_MIB, MOST_READ_AHEAD_MIB)
  await connection.run(`set streaming_buffer_size = '${ahead}MiB'`)
  await connection.run('set enable_progress_bar_print = false; set progress_bar_time = 0')
  return { connection, bindings }
}

async function load() {
  try {
    const { DuckDBInstance } = await import('@duckdb/node-api')
    // Which it brings, and which need not lie beside it.
    const brought = createRequire(createRequire(import.meta.url).resolve('@duckdb/node-api'))
    const bindings: DuckDB['bindings'] = brought('@duckdb/node-bindings')
    return { DuckDBInstance, bindings }
  } catch (cause) {
    const reason = toWarpdexError(cause).message.split('\n')[0]
    throw badRequest(`this needs DuckDB: ${installCommand('@duckdb/node-api')} (${reason})`, { cause })
  }
}

/** A text as a literal of SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** A name as an identifier of SQL. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** What DuckDB says of a file, without its advice on options that there are none of here. Its lines are rows: line ends in quotes do not count. */
export function fileError(path: string, thrown: unknown): WarpdexError {
  if (thrown instanceof WarpdexError) return thrown
  const [first, ...rest] = toWarpdexError(thrown).message.split('\n')
  const line = /CSV Error on Line: (\d+)/.exec(first)?.[1]
  const reason = (rest.find((text) => text !== '' && !text.startsWith(ORIGINAL)) ?? first).replace(/\.$/, '')
  const original = rest.find((text) => text.startsWith(ORIGINAL))?.slice(ORIGINAL.length)
  const message =
    line === undefined
      ? first.replace(/^[\w ]+ [Ee]rror: | (in )?file "[^"]*",?/g, '').trim()
      : `line ${line}: ${reason}, in ${quotedText(original ?? '')}`
  return badRequest(`${basename(path)}: ${message}`, { cause: thrown })
}

const ORIGINAL = 'Original Line: '
