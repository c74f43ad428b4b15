import { decodeDataRequest } from './data-frame.js'
import { WarpdexError } from './errors.js'
import { decodeFrame, FrameError, isControlFrame } from './frame.js'
import type { Request } from './messages.js'
import { parseControlRequest } from './parse-request.js'

/** Reads a request, for data or of control. @throws FrameError */
export function readRequest(bytes: Uint8Array): Request {
  if (!isControlFrame(bytes)) return decodeDataRequest(bytes)
  const frame = decodeFrame(bytes)
  try {
    return parseControlRequest(frame)
  } catch (error) {
    throw error instanceof WarpdexError ? new FrameError(error, frame.id) : error
  }
}
