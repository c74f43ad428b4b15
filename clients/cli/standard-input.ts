import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { badRequest, WarpdexError } from '../../protocol/errors.js'

/** Works in a folder that is gone afterwards. */
async function inTemporaryFolder<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'warpdex-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

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
  return inTemporaryFolder(async (directory) => {
    const path = join(directory, `standard-input.${format}`)
    await pipeline(process.stdin, createWriteStream(path), { signal }).catch((error: unknown) => {
      throw signal.aborted
        ? new WarpdexError('CANCELLED', 'the import was cancelled; no row is stored')
        : error
    })
    return work(path)
  })
}
