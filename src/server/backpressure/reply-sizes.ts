import { type ColumnName, isWait, WRITES } from '../../../protocol/data-request.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { Request } from '../../../protocol/messages.js'

/** Bytes of a reply beside its columns. */
const BASE_BYTES = 256
/** What a reply is not expected to be larger than as long as none of its kind is known: the payloads of one are no more. */
const UNKNOWN_BYTES = LIMITS.frameBytes / 2
/** A key has so many bytes at least, or its offset has. */
const KEY_BYTES = 4
/** Kinds of requests of which sizes are remembered. */
const MOST_KINDS = 16_384
/** How much of a size that was met is forgotten with every smaller one. */
const FORGOTTEN = 1 / 8

/** What is expected of the reply to one request. */
export interface ReplyExpectation {
  readonly bytes: number
  readonly kind: string
  readonly weight: number
}

/**
 * How large replies will be: before a request is carried out only its own size is known. What is remembered of each operation on each
 * index is how many bytes its replies have for a byte of the request, and for an entry that it may return.
 */
export class ReplySizes {
  readonly #ratios = new Map<string, number>()

  expect(request: Request): ReplyExpectation {
    const { op } = request
    let kind: string = op
    let weight = 1
    if ('handle' in request) {
      const { handle, limit = 0, columns } = request
      kind = `${op} ${Math.floor(Math.log2(limit + 1))} ${handle}`
      // Many of them are under way for long, so that what they are not known to take would keep others waiting.
      if (isWait(request)) return { kind, weight, bytes: BASE_BYTES }
      weight = 0
      for (const name in columns) weight += columns[name as ColumnName]?.bytes.byteLength ?? 0
      weight = Math.max(1, weight) * Math.max(1, limit)
    } else if ('limit' in request) {
      // What is asked with a limit is of a kind with what has about the same: how many entries may return says little of how many do.
      kind = `${op} ${Math.floor(Math.log2(request.limit + 1))} of ${request.relation}`
      weight = Math.max(1, request.limit)
    } else if (op === 'batch') {
      for (const part of request.parts) weight += part.op === 'append' ? 1 : part.count
    } else if ('index' in request) kind = `${op} ${request.index}`
    else if ('relation' in request) kind = `${op} of ${request.relation}`
    const ratio = this.#ratios.get(kind)
    if (ratio !== undefined) {
      return { kind, weight, bytes: Math.min(LIMITS.frameBytes, BASE_BYTES + ratio * weight) }
    }
    // A change is answered by at most a byte for a key.
    const isChange = WRITES.has(op) || ['append', 'changeRows', 'batch'].includes(op)
    const most = isChange ? weight : Math.ceil(weight / KEY_BYTES) * LIMITS.payloadBytes
    return { kind, weight, bytes: Math.min(UNKNOWN_BYTES, BASE_BYTES + most) }
  }

  /** The reply has turned out to have so many bytes. */
  learn({ kind, weight }: ReplyExpectation, bytes: number): void {
    const ratio = Math.max(0, bytes - BASE_BYTES) / weight
    const known = this.#ratios.get(kind)
    if (known === undefined && this.#ratios.size === MOST_KINDS) {
      const [oldest = kind] = this.#ratios.keys()
      this.#ratios.delete(oldest)
    }
    this.#ratios.set(kind, known === undefined ? ratio : Math.max(ratio, known + (ratio - known) * FORGOTTEN))
  }
}
