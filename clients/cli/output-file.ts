import { randomUUID } from 'node:crypto'
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { badRequest } from '../../protocol/errors.js'
import { systemReason } from './system-error.js'

type Pieces = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>

/**
 * Writes a file under another name in the same folder, and renames it when it is complete: until then, and after an error, a file of that name stays as it
 * is, so that it may be what the pieces are made of. What is no regular file, such as a pipe, is written directly.
 * @param pieces asked for the first one when it is known that the file can be written
 * @throws WarpdexError `BAD_REQUEST` where the file cannot be written; what the pieces throw
 */
export async function writeOutputFile(path: string, pieces: Pieces): Promise<void> {
  const writing = <T>(done: Promise<T>): Promise<T> =>
    done.catch((cause) => {
      throw badRequest(`${path} cannot be written: ${systemReason(cause)}`, { cause })
    })
  const present = await stat(path).catch(() => undefined)
  if (present?.isFile() === false) {
    const file = await writing(open(path, 'w'))
    return writeAll(file, pieces, writing).finally(() => file.close())
  }
  // A link goes on leading to the file.
  const target = present === undefined ? path : await writing(realpath(path))
  const draft = `${target}.${randomUUID().slice(0, 8)}.part`
  const file = await writing(open(draft, 'wx', present?.mode))
  try {
    await writeAll(file, pieces, writing).finally(() => file.close())
    await writing(rename(draft, target))
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

async function writeAll(
  file: FileHandle,
  pieces: Pieces,
  writing: <T>(done: Promise<T>) => Promise<T>,
): Promise<void> {
  for await (const piece of pieces) await writing(file.writeFile(piece))
  if ((await file.stat()).isFile()) await writing(file.sync())
}
