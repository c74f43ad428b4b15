import { columnBytes, copyColumn } from '../../../protocol/columns.js'
import type { WriteBatch } from '../../index-structure.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Arena } from '../arena.js'
import type { PreparedBatch } from '../batch/batch.js'
import type { Items } from '../batch/items.js'
import type { TreeWriter } from './tree-writer.js'

/** A write in a form that outlasts its request, to be applied to another arena than before. */
export interface RememberedWrite {
  /** Bytes of memory that it takes. */
  readonly bytes: number
  /** Settles it on an arena that holds what the first one held; see `TreeWriter.prepare`. */
  prepare(arena: Arena): Promise<PreparedBatch>
  /** Gives its memory back. */
  release(): void
}

/** Copies a batch's columns. A traversal that it names is left out: keys are found as the writer thinks best. */
export function rememberColumns(writer: TreeWriter, batch: WriteBatch): RememberedWrite {
  const { ops, keys, payloads, goesOn, isSorted } = batch
  const copy: WriteBatch = {
    ops: typeof ops === 'number' ? ops : new Uint8Array(ops),
    keys: copyColumn(keys),
    payloads: payloads && copyColumn(payloads),
    goesOn,
    isSorted,
  }
  return { bytes: batchBytes(batch), prepare: (arena) => writer.prepare(arena, copy), release: () => {} }
}

/** A batch that is on the device, in memory that lasts as long as somebody holds it. */
export interface ItemSource {
  /** Bytes that it takes. */
  readonly bytes: number
  /** Brings its columns into scratch buffers. */
  provide(scratch: Scratch): Items
  hold(): void
  release(): void
}

/** Holds a batch that is on the device. */
export function rememberItems(writer: TreeWriter, source: ItemSource): RememberedWrite {
  source.hold()
  return {
    bytes: source.bytes,
    prepare: (arena) => writer.prepareSource(arena, source),
    release: () => source.release(),
  }
}

/** Bytes of a batch's columns. */
export function batchBytes({ ops, keys, payloads }: WriteBatch): number {
  const kinds = typeof ops === 'number' ? 0 : ops.byteLength
  return kinds + columnBytes(keys) + (payloads === undefined ? 0 : columnBytes(payloads))
}
