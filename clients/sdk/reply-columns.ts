import type { Op } from '../../protocol/messages.js'
import type { Rows } from '../../protocol/rows.js'
import { type IndexDefinition, isFixedKeyType, type KeyType, type PayloadKind } from '../../protocol/types.js'
import type { Reply } from './connection.js'
import { joinBytes, joinOffsets } from './key-parts.js'
import { Payloads } from './payloads.js'
import { type KeyVector, keyVector } from './stored-keys.js'

/** The bytes of one section in every reply. */
export function columns(replies: readonly Reply<Op>[], name: string): Uint8Array[] {
  return replies.map((reply) => reply.section(name))
}

/** The bytes of one section in all replies, one after the other. */
export function joinedColumn(replies: readonly Reply<Op>[], name: string): Uint8Array {
  const [first] = replies
  return first !== undefined && replies.length === 1 ? first.section(name) : joinBytes(columns(replies, name))
}

export function readKeys<K extends KeyType>(
  replies: readonly Reply<Op>[],
  definition: IndexDefinition,
): KeyVector<K> {
  // K is what the caller said of the index.
  return keyVector(definition.keyType, readRows(replies, definition, 'keys', 'keyOffsets')) as KeyVector<K>
}

/** The tokens of all replies: one a range. */
export function readTokens(replies: readonly Reply<Op>[], definition: IndexDefinition): Rows {
  return readRows(replies, definition, 'tokens', 'tokenOffsets')
}

function readRows(
  replies: readonly Reply<Op>[],
  { keyType }: IndexDefinition,
  name: string,
  offsetsName: string,
): Rows {
  const bytes = joinedColumn(replies, name)
  return isFixedKeyType(keyType) ? { bytes } : { bytes, offsets: joinOffsets(columns(replies, offsetsName)) }
}

export function readPayloads<P extends PayloadKind>(
  replies: readonly Reply<Op>[],
  definition: IndexDefinition,
): Payloads<P> {
  const isBlob = definition.payloadKind === 'bytes'
  const offsets = isBlob ? joinOffsets(columns(replies, 'payloadOffsets')) : undefined
  return new Payloads<P>(definition, { bytes: joinedColumn(replies, 'payloads'), offsets })
}
