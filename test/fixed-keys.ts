import { type FixedKeyType, isFixedKeyType, type KeyType, keyBytes } from '../protocol/types.js'

/** Each key of a column of fixed width as a number in key order, or `undefined` for NaN. */
export function ranksOf(type: KeyType, column: Uint8Array): (bigint | undefined)[] {
  const width = keyBytes(requireFixed(type))
  const view = new DataView(column.buffer, column.byteOffset, column.byteLength)
  return Array.from({ length: column.byteLength / width }, (_, i) => {
    if (type === 'u32') return BigInt(view.getUint32(i * 4, true))
    if (type === 'i32') return BigInt(view.getInt32(i * 4, true))
    if (type === 'u64') return view.getBigUint64(i * 8, true)
    if (type === 'i64') return view.getBigInt64(i * 8, true)
    const value = type === 'f32' ? view.getFloat32(i * 4, true) : view.getFloat64(i * 8, true)
    if (Number.isNaN(value)) return undefined
    const bits = BigInt.asUintN(64, new BigInt64Array(new Float64Array([Math.abs(value)]).buffer)[0])
    return value < 0 ? -bits : bits
  })
}

/** The wire bytes of a key of fixed width that has that rank. */
export function keyOf(type: KeyType, rank: bigint): Uint8Array {
  const bytes = new Uint8Array(keyBytes(requireFixed(type)))
  const view = new DataView(bytes.buffer)
  if (type === 'u32') view.setUint32(0, Number(rank), true)
  else if (type === 'i32') view.setInt32(0, Number(rank), true)
  else if (type === 'u64') view.setBigUint64(0, rank, true)
  else if (type === 'i64') view.setBigInt64(0, rank, true)
  else {
    const size = new Float64Array(new BigInt64Array([rank < 0n ? -rank : rank]).buffer)[0]
    const value = rank < 0n ? -size : size
    if (type === 'f32') view.setFloat32(0, value, true)
    else view.setFloat64(0, value, true)
  }
  return bytes
}

function requireFixed(type: KeyType): FixedKeyType {
  if (isFixedKeyType(type)) return type
  throw new Error(`${type} keys have no fixed width`)
}
