import { EXPIRY_BYTES } from '../../gpu/index/layout.js'
import type { WriteBatch } from '../../gpu/index-structure.js'
import {
  aligned,
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

/**
 * The payloads of writes of `counts` items each as a structure takes them whose payloads expire: each behind the time at which it does, 0 for never.
 * @param times of each write: one an item, or one for all
 */
export function timedPayloads(
  { bytes, width = 0 }: Column,
  counts: readonly number[],
  times: readonly (Uint8Array | undefined)[],
  allocate: (bytes: number) => Uint8Array,
): Column {
  // By words, where payloads are of whole ones.
  const Unit = width % 4 === 0 ? Uint32Array : Uint8Array
  const unit = Unit.BYTES_PER_ELEMENT
  const inPayload = width / unit
  const inTime = EXPIRY_BYTES / unit
  const source = aligned<Uint32Array | Uint8Array>(bytes, Unit)
  const stored = allocate((bytes.byteLength / width) * (EXPIRY_BYTES + width))
  const target = aligned<Uint32Array | Uint8Array>(stored, Unit)
  let from = 0
  let to = 0
  counts.forEach((count, write) => {
    const given = aligned<Uint32Array | Uint8Array>(times[write] ?? NEVER, Unit)
    const step = given.byteLength === EXPIRY_BYTES ? 0 : inTime
    for (let item = 0; item < count; item++) {
      for (let i = 0; i < inTime; i++) target[to++] = given[item * step + i]
      for (let i = 0; i < inPayload; i++) target[to++] = source[from++]
    }
  })
  return { bytes: stored, width: EXPIRY_BYTES + width }
}

/** Payloads of `width` bytes that have times before them, and these times. */
export function splitPayloads(
  stored: Uint8Array,
  width: number,
): { readonly times: Column; readonly payloads: Column } {
  const stride = EXPIRY_BYTES + width
  const count = stored.byteLength / stride
  const times = new Uint8Array(count * EXPIRY_BYTES)
  const payloads = new Uint8Array(count * width)
  for (let i = 0; i < count; i++) {
    const from = i * stride
    times.set(stored.subarray(from, from + EXPIRY_BYTES), i * EXPIRY_BYTES)
    payloads.set(stored.subarray(from + EXPIRY_BYTES, from + stride), i * width)
  }
  return { times: { bytes: times, width: EXPIRY_BYTES }, payloads: { bytes: payloads, width } }
}

const NEVER = new Uint8Array(EXPIRY_BYTES)

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
