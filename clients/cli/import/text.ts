import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { badRequest, toWarpdexError, WarpdexError } from '../../../protocol/errors.js'

/** Name of standard input. */
const STANDARD_INPUT = '-'

/** A file that comes in pieces. */
export interface FileSource<Piece> {
  /** Bytes in all; undefined where that is not known before the end. */
  readonly size: number | undefined
  /** Bytes that were read. */
  readonly read: () => number
  readonly pieces: AsyncIterable<Piece>
}

/**
 * A file, or standard input for `-`.
 * @param signal ends the pieces with `CANCELLED`, also while the next one is waited for
 * @throws WarpdexError `BAD_REQUEST` when it cannot be read, also while the pieces are
 */
async function openBytes(path: string, signal: AbortSignal): Promise<FileSource<Uint8Array>> {
  let size: number | undefined
  if (path !== STANDARD_INPUT) {
    try {
      const facts = await stat(path)
      if (facts.isDirectory()) throw badRequest('it is a folder')
      if (facts.isFile()) size = facts.size
    } catch (error) {
      throw unreadable(path, error)
    }
  }
  let read = 0
  const stream: Readable = path === STANDARD_INPUT ? process.stdin : createReadStream(path)
  const onAbort = () => stream.destroy(cancelled())
  signal.addEventListener('abort', onAbort)
  // Whoever reads gets it; it may come before anybody does.
  stream.on('error', () => {})
  async function* pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const chunk of stream) {
        read += chunk.length
        yield chunk
      }
      if (signal.aborted) throw cancelled()
    } catch (error) {
      throw unreadable(path, error)
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
  return { size, read: () => read, pieces: pieces() }
}

/**
 * As `openBytes`, as UTF-8 text.
 * @throws WarpdexError `BAD_REQUEST` also when it is none
 */
export async function openText(path: string, signal: AbortSignal): Promise<FileSource<string>> {
  const { pieces: bytes, ...source } = await openBytes(path, signal)
  async function* pieces(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder('utf-8', { fatal: true })
    try {
      for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true })
      yield decoder.decode()
    } catch (error) {
      throw error instanceof WarpdexError ? error : unreadable(path, error)
    }
  }
  return { ...source, pieces: pieces() }
}

/** Called with what is wrong with a line; when it returns, the line is skipped. */
export type OnBadLine = (problem: WarpdexError) => void

/** The lines of a text, without their ends. */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of pieces) {
    const parts = (rest + piece).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) yield part.endsWith('\r') ? part.slice(0, -1) : part
  }
  if (rest !== '') yield rest
}

/** Why an import ends that a person or the system wanted to end. */
function cancelled(): WarpdexError {
  return new WarpdexError('CANCELLED', 'the import was cancelled')
}

function unreadable(path: string, error: unknown): WarpdexError {
  if (error instanceof WarpdexError && error.code === 'CANCELLED') return error
  const name = path === STANDARD_INPUT ? 'standard input' : path
  const reason = error instanceof TypeError ? 'it is not UTF-8 text' : toWarpdexError(error).message
  return badRequest(`${name} cannot be imported: ${reason}`)
}
