import { WarpdexError } from '../../protocol/errors.js'
import type { Sections } from '../../protocol/frame.js'
import type { Op } from '../../protocol/messages.js'
import type { ReplyFields } from '../../protocol/replies.js'
import type { Reader, WriteId } from '../engine/index-requests.js'
import type { Rights } from './access/rights.js'

/** Fields and columns of a successful reply. */
export interface Reply {
  readonly fields: object
  readonly sections?: Sections
}

/** Who asks, and whether it still wants to know. */
export interface Asker {
  /** The client's name, known after hello: write ids are its own. */
  readonly client: string | undefined
  readonly rights: Rights
  readonly cancellation: Reader
}

/** A reply of fields only. */
export function reply<O extends Op>(fields: ReplyFields[O]): Reply {
  return { fields }
}

/**
 * How a write is named by its number.
 * @throws WarpdexError `BAD_REQUEST` without a client's name
 */
export function writeIdOf(number: number | undefined, { client }: Asker): WriteId | undefined {
  if (number === undefined) return undefined
  if (client !== undefined) return { client, number }
  throw new WarpdexError(
    'BAD_REQUEST',
    'a write with a writeId needs a hello before it that names the client',
  )
}
