import { extname } from 'node:path'
import { badRequest } from '../../../protocol/errors.js'

export const FILE_FORMATS = ['csv', 'tsv', 'ndjson', 'parquet', 'arrow'] as const
export type FileFormat = (typeof FILE_FORMATS)[number]

const FORMATS: Readonly<Record<string, FileFormat>> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.json': 'ndjson',
  '.parquet': 'parquet',
  '.arrow': 'arrow',
  '.arrows': 'arrow',
  '.feather': 'arrow',
}

/**
 * What a file is by the end of its name, also behind `.gz`.
 * @param advice what to say where it is not told
 * @throws WarpdexError `BAD_REQUEST`
 */
export function formatOf(path: string, advice = `say the format: ${FILE_FORMATS.join(', ')}`): FileFormat {
  const format = FORMATS[extname(path.replace(/\.gz$/i, '')).toLowerCase()]
  if (format !== undefined) return format
  throw badRequest(`${path} does not tell what it is; ${advice}`)
}

/** Whether a file is CSV, whatever separates its columns. */
export function isCsv(format: FileFormat): boolean {
  return format === 'csv' || format === 'tsv'
}
