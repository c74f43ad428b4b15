import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { decodeFrame, FrameError } from '../../protocol/frame.js'
import type { Request } from '../../protocol/messages.js'
import { parseRequest } from '../../protocol/parse-request.js'

/** A message as a request, or as what is wrong with it. */
export type ReadMessage =
  | {
      readonly request: Request
      /** Whether the memory that its columns lie in holds nothing else, so that another thread may take it over. */
      readonly ownsMemory: boolean
      /** How long the reading took. */
      readonly milliseconds: number
    }
  | {
      readonly request?: undefined
      /** Of the request, where its header could be read. */
      readonly id: number | null
      readonly error: WarpdexError
    }

/** Reads a message; never fails. */
export function readMessage(data: Uint8Array, binary: boolean): ReadMessage {
  const since = performance.now()
  let id: number | null = null
  try {
    if (!binary) throw new WarpdexError('BAD_REQUEST', 'a text message came; frames are binary messages')
    const frame = decodeFrame(data)
    id = frame.id
    const ownsMemory = data.byteLength === data.buffer.byteLength
    return { request: parseRequest(frame), ownsMemory, milliseconds: performance.now() - since }
  } catch (thrown) {
    return { id: thrown instanceof FrameError ? thrown.id : id, error: toWarpdexError(thrown) }
  }
}
