import { crc32 } from 'node:zlib'
import type { MsgHdrs } from '@nats-io/transport-node'

/**
 * How an entry of the log of a replica set lies in messages. Their headers are `Warpdex-Append`, an id that no other append has;
 * `Warpdex-After`, the position of the entry before; `Warpdex-Part`, as `2/3`; and `Warpdex-Crc32` of the message's bytes and of these
 * three, with a newline behind each, as a decimal number. So gaps, missing parts and wrong bytes are noticed.
 */
export interface EntryPart {
  readonly append: string
  /** Position of the entry before. */
  readonly after: number
  /** From 1 on. */
  readonly number: number
  /** How many the entry has. */
  readonly count: number
  readonly bytes: Uint8Array
}

/** @param size of a part at most */
export function partsOf(entry: Uint8Array, append: string, after: number, size: number): EntryPart[] {
  const count = Math.max(1, Math.ceil(entry.length / size))
  return Array.from({ length: count }, (_, i) => {
    return { append, after, number: i + 1, count, bytes: entry.subarray(i * size, (i + 1) * size) }
  })
}

export function putHeaders(headers: MsgHdrs, part: EntryPart): void {
  headers.set('Warpdex-Append', part.append)
  headers.set('Warpdex-After', String(part.after))
  headers.set('Warpdex-Part', `${part.number}/${part.count}`)
  headers.set('Warpdex-Crc32', String(checksum(part)))
}

/** @returns undefined for a message that is damaged, or is no part of an entry */
export function readPart(headers: MsgHdrs | undefined, bytes: Uint8Array): EntryPart | undefined {
  if (headers === undefined) return undefined
  const [number = 0, count = 0] = headers.get('Warpdex-Part').split('/').map(Number)
  const after = Number(headers.get('Warpdex-After'))
  const part = { append: headers.get('Warpdex-Append'), after, number, count, bytes }
  return headers.get('Warpdex-Crc32') === String(checksum(part)) ? part : undefined
}

function checksum({ append, after, number, count, bytes }: EntryPart): number {
  return crc32(`${append}\n${after}\n${number}/${count}\n`, crc32(bytes))
}
