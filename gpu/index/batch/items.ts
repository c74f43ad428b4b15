import { asBytes, columnBytes, copyColumn, countOf } from '../../../protocol/columns.js'
import { WriteOp } from '../../../protocol/types.js'
import type { Device } from '../../device/device.js'
import type { IndexShape, WriteBatch } from '../../index-structure.js'
import type { WireKeys } from '../../keys/normalise.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Scratch } from '../../memory/scratch.js'
import { leadingBits } from '../../primitives/primitives.js'

/** In place of one kind for all items; `items.wesl` has the same number. */
export const MIXED = 255

/** What the host knows of a write batch's items. */
export interface ItemKinds {
  /** One kind for all items, or MIXED. */
  readonly op: number
  readonly hasPairs: boolean
  /** Every item is a plain insert into an index that is not unique: none depends on another. */
  readonly appends: boolean
  /** They are appends, and their keys have no NaN: all of them will be in the index. */
  readonly allAlive: boolean
  /** Keys ascend. */
  readonly isSorted: boolean
  /** Which bits of keys of two words are likely to tell them apart; see `leadingBits`. */
  readonly leading: number | undefined
  /** Whether it is one of many such batches, as those of a load are. */
  readonly goesOn: boolean
  /** Items of the batches that follow, if that is known. */
  readonly coming: number
  /** Whether payloads of pairs are compared from their first word on. */
  readonly matchesWhole: boolean
}

/** A write batch on the device. */
export interface Items extends ItemKinds {
  readonly count: number
  /** Kinds, a byte an item, when mixed. */
  readonly ops: DeviceMemory
  readonly keys: ItemKeys
  readonly payloads: DeviceMemory
}

/** Keys as they came off the wire, or those of variable length in their normal form already. */
export type ItemKeys = FixedKeys | WireKeys | KeyRecords

interface FixedKeys {
  readonly fixed: DeviceMemory
}

/** Records of keys, and where they lead. */
export interface KeyRecords {
  readonly records: DeviceMemory
  readonly heap: DeviceMemory
}

/** A write batch that comes to the device when it is asked for: for its request, and for a merge that holds it. */
export interface ItemSource {
  /** Bytes of its columns. */
  readonly bytes: number
  /** Brings its columns into scratch buffers. */
  provide(scratch: Scratch): Items
  /** Has it outlast its request, until `release`. */
  hold(): void
  release(): void
}

/** A batch in host memory. It is copied when it is held: whoever has its columns may use their memory again once it is applied. */
export function columnSource(device: Device, shape: IndexShape, batch: WriteBatch): ItemSource {
  let kept = batch
  return {
    bytes: batchBytes(batch),
    provide: (scratch) => uploadItems(device, scratch, shape, kept),
    hold() {
      const { ops, keys, payloads } = batch
      kept = {
        ...batch,
        ops: typeof ops === 'number' ? ops : new Uint8Array(ops),
        keys: copyColumn(keys),
        payloads: payloads && copyColumn(payloads),
        coming: 0,
      }
    },
    release() {},
  }
}

/** Bytes of a batch's columns. */
export function batchBytes({ ops, keys, payloads }: WriteBatch): number {
  const kinds = typeof ops === 'number' ? 0 : ops.byteLength
  return kinds + columnBytes(keys) + (payloads === undefined ? 0 : columnBytes(payloads))
}

/** Uploads a batch. */
export function uploadItems(device: Device, scratch: Scratch, shape: IndexShape, batch: WriteBatch): Items {
  const upload = (column: Uint8Array | undefined): DeviceMemory => {
    const buffer = scratch.bytes(column?.byteLength ?? 0)
    if (column !== undefined) device.upload(buffer, column)
    return buffer
  }
  const { ops } = batch
  const { bytes: all, offsets } = batch.keys
  const count = countOf(batch.keys)
  const bytes = upload(all)
  const keys =
    offsets === undefined
      ? { fixed: bytes }
      : { bytes, offsets: upload(asBytes(offsets)), count, byteLength: all.byteLength }
  const payloads = upload(batch.payloads?.bytes)
  const kinds = upload(typeof ops === 'number' ? undefined : ops)
  return { ...itemKinds(shape, batch), count, ops: kinds, keys, payloads }
}

/** What is true of a batch's items, and of any part of them. */
export function itemKinds(shape: IndexShape, batch: WriteBatch): ItemKinds {
  const { ops } = batch
  const mixed = typeof ops !== 'number'
  const appends = !shape.unique && ops === WriteOp.insert
  return {
    op: mixed ? MIXED : ops,
    hasPairs: !shape.unique && (mixed ? ops.includes(WriteOp.deletePair) : ops === WriteOp.deletePair),
    appends,
    allAlive: appends && shape.keyType !== 'f32' && shape.keyType !== 'f64',
    goesOn: batch.goesOn ?? false,
    coming: batch.coming ?? 0,
    isSorted: batch.isSorted ?? false,
    matchesWhole: batch.matchesWhole ?? false,
    leading: shape.keyType.endsWith('64') && !batch.isSorted ? leadingBits(batch.keys.bytes) : undefined,
  }
}
