import { decodeDataRequest } from './data-frame.js'
import { decodeFrame, isControlFrame } from './frame.js'
import type { Request } from './messages.js'
import { parseControlRequest } from './parse-request.js'

/** Reads a request, of data or of control. @throws FrameError, or WarpdexError `BAD_REQUEST` */
export function readRequest(frame: Uint8Array): Request {
  return isControlFrame(frame) ? parseControlRequest(decodeFrame(frame)) : decodeDataRequest(frame)
}
