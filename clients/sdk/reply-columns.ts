import {
  aligned,
  type ColumnConstructor,
  KEY_ARRAYS,
  type KeyArray,
  type KeyArrays,
} from '../../protocol/columns.js'
import type { Op } from '../../protocol/messages.js'
import type { IndexDefinition, KeyType, PayloadKind } from '../../protocol/types.js'
import type { Reply } from './connection.js'
import { joinBytes, joinOffsets } from './key-parts.js'
import { Payloads } from './payloads.js'

/** The bytes of one section in every reply. */
export function columns(replies: readonly Reply<Op>[], name: string): Uint8Array[] {
  return replies.map((reply) => reply.section(name))
}

export function readKeys<K extends KeyType>(
  replies: readonly Reply<Op>[],
  { keyType }: IndexDefinition,
): KeyArrays[K] {
  const Column: ColumnConstructor<KeyArray> = KEY_ARRAYS[keyType]
  // K is what the caller said of the index.
  return aligned(joinBytes(columns(replies, 'keys')), Column) as KeyArrays[K]
}

export function readPayloads<P extends PayloadKind>(
  replies: readonly Reply<Op>[],
  definition: IndexDefinition,
): Payloads<P> {
  const isBlob = definition.payloadKind === 'bytes'
  const offsets = isBlob ? joinOffsets(columns(replies, 'payloadOffsets')) : undefined
  return new Payloads<P>(definition, { bytes: joinBytes(columns(replies, 'payloads')), offsets })
}
