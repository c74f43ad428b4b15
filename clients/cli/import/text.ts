import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'

/** Name of standard input. */
const STANDARD_INPUT = '-'

/** Text that comes in pieces. */
export interface TextSource {
  /** Bytes in all; undefined where that is not known before the end. */
  readonly size: number | undefined
  /** Bytes that were read. */
  readonly read: () => number
  readonly pieces: AsyncIterable<string>
}

/**
 * A file, or standard input for `-`, as UTF-8 text.
 * @throws WarpdexError `BAD_REQUEST` when it cannot be read, also while the pieces are, or is no UTF-8
 */
export async function openText(path: string): Promise<TextSource> {
  let size: number | undefined
  if (path !== STANDARD_INPUT) {
    try {
      const facts = await stat(path)
      if (facts.isDirectory()) throw new WarpdexError('BAD_REQUEST', 'it is a folder')
      if (facts.isFile()) size = facts.size
    } catch (error) {
      throw unreadable(path, error)
    }
  }
  let read = 0
  const stream: AsyncIterable<Buffer> = path === STANDARD_INPUT ? process.stdin : createReadStream(path)
  async function* pieces(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder('utf-8', { fatal: true })
    try {
      for await (const chunk of stream) {
        read += chunk.length
        yield decoder.decode(chunk, { stream: true })
      }
      yield decoder.decode()
    } catch (error) {
      throw unreadable(path, error)
    }
  }
  return { size, read: () => read, pieces: pieces() }
}

function unreadable(path: string, error: unknown): WarpdexError {
  const name = path === STANDARD_INPUT ? 'standard input' : path
  const reason = error instanceof TypeError ? 'it is no UTF-8 text' : toWarpdexError(error).message
  return new WarpdexError('BAD_REQUEST', `${name} cannot be imported: ${reason}`)
}
