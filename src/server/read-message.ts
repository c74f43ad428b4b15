import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { decodeFrame, type Frame, FrameError } from '../../protocol/frame.js'
import { type KnownHead, KnownHeads } from '../../protocol/known-heads.js'
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

/** Requests for keys, of which there may be many that differ in their keys alone. */
type KeyRequest = Extract<Request, { op: 'get' | 'count' }>

const known = new KnownHeads<KeyRequest>()

/** Reads a message; never fails. */
export function readMessage(data: Uint8Array, binary: boolean): ReadMessage {
  const since = performance.now()
  let id: number | null = null
  try {
    if (!binary) throw new WarpdexError('BAD_REQUEST', 'a text message came; frames are binary messages')
    const ownsMemory = data.byteLength === data.buffer.byteLength
    const head = known.find(data)
    if (head !== undefined) {
      return { request: likeKnown(head, data), ownsMemory, milliseconds: performance.now() - since }
    }
    const frame = decodeFrame(data)
    id = frame.id
    const request = parseRequest(frame)
    remember(data, frame, request)
    return { request, ownsMemory, milliseconds: performance.now() - since }
  } catch (thrown) {
    return { id: thrown instanceof FrameError ? thrown.id : id, error: toWarpdexError(thrown) }
  }
}

function remember(data: Uint8Array, frame: Frame, request: Request): void {
  if (request.op === 'get' || request.op === 'count') known.keep(data, frame, request)
}

/** A request as one that was read before, with an id and keys of its own. */
function likeKnown({ value, sections, idOf }: KnownHead<KeyRequest>, data: Uint8Array): KeyRequest {
  const request: Record<string, unknown> = { ...value, id: idOf(data) }
  // The sections of these requests are fields of the same names.
  for (const { name, type, offset, end } of sections)
    request[name] = { type, bytes: data.subarray(offset, end) }
  return request as unknown as KeyRequest
}
