import { decodeDataReply } from '../../protocol/data-frame.js'
import type { DataOp, WireColumns } from '../../protocol/data-request.js'
import type { WarpdexError } from '../../protocol/errors.js'
import { decodeFrame, isControlFrame, type Section } from '../../protocol/frame.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Op } from '../../protocol/messages.js'
import { type ReplyFields, replyError, replyFields } from '../../protocol/replies.js'
import type { Explanation } from '../../protocol/traversal.js'

/** Fields by operation; most requests for data are answered by columns alone. */
interface Fields extends ReplyFields, Record<Exclude<DataOp, 'explain'>, object> {
  readonly explain: { readonly explanation: Explanation }
}

/** A server's answer: a control frame has fields and sections, a data frame has columns. */
export interface Reply<O extends Op = Op> {
  /** Of the request; null where that could not be read. */
  readonly id: number | null
  /** What a data frame says that it answers. */
  readonly op?: DataOp | undefined
  /** Why the request was refused. */
  readonly error: WarpdexError | undefined
  readonly fields: Fields[O]
  readonly sections: ReadonlyMap<string, Section>
  readonly columns: WireColumns
}

const NO_FIELDS = {}
const NO_SECTIONS: ReadonlyMap<string, Section> = new Map()
const NO_COLUMNS: WireColumns = {}

/**
 * Reads a server's frame. What it has is what the request asked for, if the server keeps to the protocol.
 *
 * @throws FrameError
 */
export function readReply(bytes: Uint8Array): Reply {
  if (!isControlFrame(bytes)) {
    const { id, op, columns } = decodeDataReply(bytes)
    return { id, op, error: undefined, fields: NO_FIELDS, sections: NO_SECTIONS, columns }
  }
  const frame = decodeFrame(bytes, LIMITS.replyHeaderBytes)
  const { id, sections } = frame
  return { id, error: replyError(frame), fields: replyFields(frame), sections, columns: NO_COLUMNS }
}
