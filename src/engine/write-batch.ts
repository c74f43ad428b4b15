import type { WriteBatch } from '../../gpu/index-structure.js'
import { joinRows, type RowWidth, rowCount } from '../../protocol/rows.js'
import { ResultCode, type WriteOp } from '../../protocol/types.js'

/** Payloads of kind `bytes`: payload i is bytes offsets[i] to offsets[i + 1]. */
export interface Blob {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array
}

/**
 * One batch that does what the given ones do one after the other. A batch without payloads among others gets zeros.
 * @param allocate gives memory for keys of one width and for payloads, with any content
 */
export function joinBatches(
  batches: readonly WriteBatch[],
  keyWidth: RowWidth,
  payloadBytes: number,
  allocate = (bytes: number): Uint8Array => new Uint8Array(bytes),
): WriteBatch {
  if (batches.length === 1) return batches[0]
  const columns = batches.map(({ keys, keyOffsets }) => ({ bytes: keys, offsets: keyOffsets }))
  const counts = columns.map((column) => rowCount(column, keyWidth))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const keys = joinRows(columns, keyWidth, counts, allocate)
  const withPayloads = batches.some(({ payloads }) => payloads !== undefined)
  const payloads = withPayloads ? allocate(total * payloadBytes) : undefined
  const ops = new Uint8Array(total)
  let start = 0
  batches.forEach((batch, i) => {
    const end = start + counts[i]
    if (batch.payloads !== undefined) payloads?.set(batch.payloads, start * payloadBytes)
    else payloads?.fill(0, start * payloadBytes, end * payloadBytes)
    if (typeof batch.ops === 'number') ops.fill(batch.ops, start, end)
    else ops.set(batch.ops, start)
    start = end
  })
  return { ops: commonOp(batches) ?? ops, keys: keys.bytes, keyOffsets: keys.offsets, payloads }
}

function commonOp(batches: readonly WriteBatch[]): WriteOp | undefined {
  const [{ ops }] = batches
  return typeof ops === 'number' && batches.every((batch) => batch.ops === ops) ? ops : undefined
}

/** One blob with the payloads of all; a batch without payloads has `count` empty ones. */
export function joinBlobs(
  blobs: readonly { readonly blob: Blob | undefined; readonly count: number }[],
): Blob {
  const only = blobs.length === 1 ? blobs[0].blob : undefined
  if (only !== undefined) return only
  const bytes = new Uint8Array(blobs.reduce((sum, { blob }) => sum + (blob?.bytes.byteLength ?? 0), 0))
  const offsets = new Uint32Array(blobs.reduce((sum, { count }) => sum + count, 1))
  let item = 1
  let end = 0
  for (const { blob, count } of blobs) {
    for (let i = 1; i <= count; i++) offsets[item++] = end + (blob?.offsets[i] ?? 0)
    if (blob === undefined) continue
    bytes.set(blob.bytes, end)
    end += blob.bytes.byteLength
  }
  return { bytes, offsets }
}

/** The blob with empty payloads for the items that store none, or `undefined` when none stores any. */
export function storedPayloads(blob: Blob, codes: Uint8Array): Blob | undefined {
  if (codes.every(isStored)) return blob
  if (!codes.some(isStored)) return undefined
  const bytes = new Uint8Array(blob.bytes.byteLength)
  const offsets = new Uint32Array(blob.offsets.length)
  let end = 0
  for (let i = 0; i < codes.length; i++) {
    if (isStored(codes[i])) {
      const payload = blob.bytes.subarray(blob.offsets[i], blob.offsets[i + 1])
      bytes.set(payload, end)
      end += payload.byteLength
    }
    offsets[i + 1] = end
  }
  return { bytes: bytes.subarray(0, end), offsets }
}

function isStored(code: number): boolean {
  return code === ResultCode.inserted || code === ResultCode.replaced
}

/** Writes ascending row ids into the first two words of every row of four. */
export function numberRows(rows: Uint32Array, firstRow: number): void {
  for (let i = 0, row = firstRow; i < rows.length; i += 4, row++) {
    rows[i] = row
    rows[i + 1] = row / 2 ** 32
  }
}
