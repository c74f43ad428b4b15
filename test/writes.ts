import type { IndexShape, IndexStructure, PreparedWrite, WriteBatch } from '../gpu/index-structure.js'
import { type Column, columnFrom } from '../protocol/columns.js'
import { type IndexDefinition, keyWidth, payloadBytes } from '../protocol/types.js'
import type { Index } from '../src/engine/index.js'

/** A write batch with its columns and their offsets one by one. */
export interface FlatBatch extends Omit<WriteBatch, 'keys' | 'payloads'> {
  readonly keys: Uint8Array | Column
  readonly keyOffsets?: Uint32Array | undefined
  readonly payloads?: Uint8Array | Pick<Column, 'bytes' | 'offsets'> | undefined
}

/** The batch of columns that are given one by one. */
export function batchOf(
  index: Pick<IndexShape, 'keyType' | 'payloadBytes'> | Pick<IndexDefinition, 'keyType' | 'payloadKind'>,
  { keys, keyOffsets, payloads, ...rest }: FlatBatch,
): WriteBatch {
  const width = 'payloadKind' in index ? payloadBytes(index.payloadKind) : index.payloadBytes
  return {
    ...rest,
    keys: keys instanceof Uint8Array ? columnFrom(keys, keyWidth(index.keyType), keyOffsets) : keys,
    payloads:
      payloads instanceof Uint8Array
        ? columnFrom(payloads, width)
        : payloads && columnFrom(payloads.bytes, width, payloads.offsets),
  }
}

/** Prepares a batch whose columns are given one by one. */
export async function prepareBatch(
  structure: Pick<IndexStructure, 'prepare' | 'shape'>,
  batch: FlatBatch,
): Promise<PreparedWrite> {
  return structure.prepare(batchOf(structure.shape, batch))
}

type Writable = Pick<Index, 'write' | 'definition'>

/** Writes a batch whose columns are given one by one. */
export async function writeTo(
  index: Writable,
  batch: FlatBatch,
  id?: Parameters<Index['write']>[1],
  reader?: Parameters<Index['write']>[2],
): Promise<Uint8Array> {
  return index.write(batchOf(index.definition, batch), id, reader)
}
