import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { temporaryFolder } from './temporary-folder.js'

/**
 * Works on a file, or for `-` on a copy of standard input: types that hold all rows are known at its end, and Parquet begins there.
 * @param signal ends the copying with `CANCELLED`
 */
export async function withFile<T>(
  file: string,
  format: string | undefined,
  signal: AbortSignal,
  work: (path: string) => Promise<T>,
): Promise<T> {
  if (file !== '-') return work(file)
  if (format === undefined) throw badRequest('standard input does not tell what it is; say --format')
  const folder = await temporaryFolder()
  try {
    const path = join(folder.path, `standard-input.${format}`)
    await pipeline(process.stdin, createWriteStream(path), { signal }).catch((error: unknown) => {
      throw signal.aborted
        ? new WarpdexError('CANCELLED', 'the import was cancelled; no row is stored')
        : error
    })
    return await work(path)
  } finally {
    await folder.remove()
  }
}
