import { asBytes } from '../../../protocol/columns.js'
import { WriteOp } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { IndexShape, WriteBatch } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import { leadingBits } from '../../primitives/primitives.js'

/** In place of one kind for all items; `items.wesl` has the same number. */
export const MIXED = 255

/** A write batch on the device. */
export interface Items {
  readonly count: number
  /** One kind for all items, or MIXED. */
  readonly op: number
  /** Kinds, a byte an item, when mixed. */
  readonly ops: GPUBuffer
  readonly keys: GPUBuffer
  /** Where keys of variable length begin, and how many bytes all have. */
  readonly keyOffsets: GPUBuffer | undefined
  readonly keyBytes: number
  readonly payloads: GPUBuffer
  readonly hasPairs: boolean
  /** Every item is a plain insert into an index that is not unique: none depends on another. */
  readonly appends: boolean
  /** They are appends, and their keys have no NaN: all of them will be in the index. */
  readonly allAlive: boolean
  /** Which bits of keys of two words are likely to tell them apart; see `leadingBits`. */
  readonly leading: number | undefined
}

/** Uploads a batch. */
export function uploadItems(
  device: Device,
  scratch: Scratch,
  shape: IndexShape,
  batch: WriteBatch,
  count: number,
): Items {
  const { ops } = batch
  const mixed = typeof ops !== 'number'
  const keys = scratch.bytes(batch.keys.byteLength)
  device.upload(keys, batch.keys)
  const keyOffsets = batch.keyOffsets && scratch.bytes(batch.keyOffsets.byteLength)
  if (keyOffsets !== undefined && batch.keyOffsets !== undefined)
    device.upload(keyOffsets, asBytes(batch.keyOffsets))
  const payloads = scratch.bytes(batch.payloads?.byteLength ?? 0)
  if (batch.payloads !== undefined) device.upload(payloads, batch.payloads)
  const kinds = scratch.bytes(mixed ? count : 0)
  if (mixed) device.upload(kinds, ops)
  const appends = !shape.unique && ops === WriteOp.insert
  return {
    count,
    op: mixed ? MIXED : ops,
    ops: kinds,
    keys,
    keyOffsets,
    keyBytes: batch.keys.byteLength,
    payloads,
    hasPairs: !shape.unique && (mixed ? ops.includes(WriteOp.deletePair) : ops === WriteOp.deletePair),
    appends,
    allAlive: appends && shape.keyType !== 'f32' && shape.keyType !== 'f64',
    leading: shape.keyType.endsWith('64') ? leadingBits(batch.keys) : undefined,
  }
}
