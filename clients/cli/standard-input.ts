import { createWriteStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { badRequest, WarpdexError } from '../../protocol/errors.js'
import { FILE_FORMATS } from '../sdk/files/file-formats.js'
import { systemReason } from './system-error.js'
import { temporaryFolder } from './temporary-folder.js'

/** The text of a file, or for `-` that of standard input. @throws WarpdexError `BAD_REQUEST` */
export function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (cause) {
    const name = file === '-' ? 'standard input' : file
    throw badRequest(`${name} cannot be read: ${systemReason(cause)}`, { cause })
  }
}

/**
 * Works on a file, or for `-` on a copy of standard input: types that hold all rows are known at its end, and Parquet begins there.
 * @param signal ends the copying with `CANCELLED`
 * @param advice what to say where the format of standard input is not given
 */
export async function withFile<T>(
  file: string,
  format: string | undefined,
  signal: AbortSignal,
  work: (path: string) => Promise<T>,
  advice = `say --format ${FILE_FORMATS.join(', ')}`,
): Promise<T> {
  if (file !== '-') return work(file)
  if (format === undefined) throw badRequest(`standard input does not tell what it is; ${advice}`)
  const folder = await temporaryFolder()
  try {
    const path = join(folder.path, `standard-input.${format}`)
    await pipeline(process.stdin, createWriteStream(path), { signal }).catch((error: unknown) => {
      throw signal.aborted
        ? new WarpdexError('CANCELLED', 'it was cancelled before standard input ended; nothing was done')
        : error
    })
    return await work(path)
  } finally {
    await folder.remove()
  }
}
