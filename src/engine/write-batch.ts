import type { WriteBatch } from '../../gpu/index-structure.js'
import {
  blankColumn,
  type Column,
  type CutColumn,
  countOf,
  joinColumns,
  valueAt,
} from '../../protocol/columns.js'
import { ResultCode, type WriteOp } from '../../protocol/types.js'

/**
 * One batch that does what the given ones do one after the other. A batch without payloads among others gets zeros.
 * @param allocate gives memory for keys of one width and for payloads, with any content
 */
export function joinBatches(
  batches: readonly WriteBatch[],
  allocate?: (bytes: number) => Uint8Array,
): WriteBatch {
  if (batches.length === 1) return batches[0]
  const columns = batches.map(({ keys }) => keys)
  const counts = columns.map(countOf)
  const keys = joinColumns(columns, counts, allocate)
  const payloads = joinPayloads(
    batches.map(({ payloads }) => payloads),
    counts,
    allocate,
  )
  const ops = new Uint8Array(countOf(keys))
  let start = 0
  batches.forEach((batch, i) => {
    const end = start + counts[i]
    if (typeof batch.ops === 'number') ops.fill(batch.ops, start, end)
    else ops.set(batch.ops, start)
    start = end
  })
  return { ops: commonOp(batches) ?? ops, keys, payloads }
}

/** The payloads of writes of `counts` items each; those of a write without any are zeros, or of no bytes. */
export function joinPayloads(
  columns: readonly (Column | undefined)[],
  counts: readonly number[],
  allocate?: (bytes: number) => Uint8Array,
): Column | undefined {
  const given = columns.find((column) => column !== undefined)
  if (given === undefined) return undefined
  return joinColumns(
    columns.map((column = blankColumn(0, given.width)) => column),
    counts,
    allocate,
  )
}

function commonOp(batches: readonly WriteBatch[]): WriteOp | undefined {
  const [{ ops }] = batches
  return typeof ops === 'number' && batches.every((batch) => batch.ops === ops) ? ops : undefined
}

const { exists, notFound, notANumber } = ResultCode
/** Codes of items that came to nothing. */
const UNCHANGED = [exists, notFound, notANumber]

/** A bit for each item that has changed something; `undefined` when all have. */
export function changedItems(codes: Uint8Array): Uint8Array | undefined {
  // A buffer is searched natively; a loop over a million items takes a hundred times as long.
  const searched = Buffer.from(codes.buffer, codes.byteOffset, codes.byteLength)
  if (!UNCHANGED.some((code) => searched.includes(code))) return undefined
  const changed = new Uint8Array(Math.ceil(codes.length / 8))
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]
    const isUnchanged = code === exists || code === notFound || code === notANumber
    if (!isUnchanged) changed[i >> 3] |= 1 << (i & 7)
  }
  return changed
}

/** Whether an item has changed something, by a bitmap as `changedItems` gives it. */
export function hasChanged(changed: Uint8Array | undefined, item: number): boolean {
  return changed === undefined || ((changed[item >> 3] >> (item & 7)) & 1) === 1
}

/**
 * The payloads, empty ones for the items that have changed nothing; `undefined` when none has.
 * @param changed as `changedItems` gives it
 */
export function changedPayloads(payloads: CutColumn, changed: Uint8Array | undefined): CutColumn | undefined {
  if (changed === undefined) return payloads
  if (changed.every((bits) => bits === 0)) return undefined
  const count = countOf(payloads)
  const bytes = new Uint8Array(payloads.bytes.byteLength)
  const offsets = new Uint32Array(count + 1)
  for (let i = 0; i < count; i++) {
    const payload = hasChanged(changed, i) ? valueAt(payloads, i) : undefined
    if (payload !== undefined) bytes.set(payload, offsets[i])
    offsets[i + 1] = offsets[i] + (payload?.byteLength ?? 0)
  }
  return { bytes: bytes.subarray(0, offsets[count]), offsets }
}

/** Writes ascending row ids into the first two words of every row of four. */
export function numberRows(rows: Uint32Array, firstRow: number): void {
  for (let i = 0, row = firstRow; i < rows.length; i += 4, row++) {
    rows[i] = row
    rows[i + 1] = row / 2 ** 32
  }
}
