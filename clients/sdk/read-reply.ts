import { decodeFrame, type Frame, type Section } from '../../protocol/frame.js'
import { KnownHeads } from '../../protocol/known-heads.js'
import { LIMITS } from '../../protocol/limits.js'

/** Of replies that say nothing but in columns. */
const known = new KnownHeads<undefined>()

/**
 * Reads a server's frame.
 * @throws FrameError
 */
export function readReply(bytes: Uint8Array): Frame {
  const head = known.find(bytes)
  if (head === undefined) {
    const frame = decodeFrame(bytes, LIMITS.replyHeaderBytes)
    const { header } = frame
    if (header.ok === true && Object.keys(header).length === 2) known.keep(bytes, frame, undefined)
    return frame
  }
  const sections = new Map<string, Section>()
  for (const { name, type, offset, end } of head.sections) {
    sections.set(name, { type, bytes: bytes.subarray(offset, end) })
  }
  const id = head.idOf(bytes)
  return { id, header: { id, ok: true }, sections }
}
