import { aligned, type Column } from '../../protocol/columns.js'
import { EXPIRY_BYTES } from './layout.js'

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
): { readonly expireAt: Column; readonly payloads: Column } {
  const stride = EXPIRY_BYTES + width
  const count = stored.byteLength / stride
  const times = new Uint8Array(count * EXPIRY_BYTES)
  const payloads = new Uint8Array(count * width)
  for (let i = 0; i < count; i++) {
    const from = i * stride
    times.set(stored.subarray(from, from + EXPIRY_BYTES), i * EXPIRY_BYTES)
    payloads.set(stored.subarray(from + EXPIRY_BYTES, from + stride), i * width)
  }
  return { expireAt: { bytes: times, width: EXPIRY_BYTES }, payloads: { bytes: payloads, width } }
}

const NEVER = new Uint8Array(EXPIRY_BYTES)
