import { asBytes } from '../../protocol/columns.js'
import { type PayloadKind, payloadBytes } from '../../protocol/types.js'
import type { Payloads, PayloadsInput } from '../sdk/index.js'
import { mix } from './random.js'

/** What `PayloadSpace.version` says of bytes that are no payload of the key. */
export const WRONG = -1

/** Bits of a version that payloads of four bytes have room for. */
const SHORT_VERSION = 0xfff

/**
 * The payloads of a load test: each follows from its key and the version of the write, and both can be told from it. Those of eight
 * bytes and more are the version, a check of key and version, and words that follow from the check. Those of four bytes have 12 bits
 * of the version and 20 of the key, and shorter ones the key alone.
 */
export class PayloadSpace {
  readonly kind: PayloadKind
  /** Bytes of a payload. */
  readonly width: number
  /** Whether payloads hold their whole version. */
  readonly versioned: boolean

  /** @param blobBytes of a payload of kind `bytes` */
  constructor(kind: PayloadKind, blobBytes: number) {
    this.kind = kind
    this.width = payloadBytes(kind) ?? blobBytes
    this.versioned = this.width >= 8
  }

  /** Room for `count` payloads. */
  room(count: number): Uint8Array {
    return new Uint8Array(Math.ceil((count * this.width) / 8) * 8)
  }

  /** Writes the payload of a key at place i of a column. */
  write(target: Uint8Array, i: number, hash: number, version: number): void {
    const start = i * this.width
    const end = start + this.width
    if (!this.versioned) {
      putWord(target, start, end, this.#short(hash, version))
      return
    }
    const check = mix(hash ^ mix(version))
    putWord(target, start, end, version)
    putWord(target, start + 4, end, check)
    for (let at = start + 8; at < end; at += 4) putWord(target, at, end, mix(check + at - start))
  }

  /** The version of a key's payload, or `WRONG` where it is none of that key. */
  version(row: Uint8Array, hash: number): number {
    if (row.length !== this.width) return WRONG
    if (!this.versioned) return this.#shortVersion(row, hash)
    const version = getWord(row, 0)
    const check = mix(hash ^ mix(version))
    if (getWord(row, 4) !== check) return WRONG
    for (let at = 8; at < row.length; at += 4) {
      const expected = mix(check + at)
      for (let byte = at; byte < Math.min(at + 4, row.length); byte++) {
        if (row[byte] !== ((expected >>> (8 * (byte - at))) & 0xff)) return WRONG
      }
    }
    return version
  }

  /** The first `count` payloads of a column as the client takes them. */
  column(bytes: Uint8Array, count: number): PayloadsInput {
    const { kind, width } = this
    if (kind === 'u32') return new Uint32Array(bytes.buffer, bytes.byteOffset, count)
    if (kind === 'u64') return new BigUint64Array(bytes.buffer, bytes.byteOffset, count)
    const rows = bytes.subarray(0, count * width)
    if (payloadBytes(kind) !== undefined) return rows
    return { bytes: rows, offsets: Uint32Array.from({ length: count + 1 }, (_, i) => i * width) }
  }

  /** The payloads of a result, by number: views. */
  rows({ array, offsets }: Pick<Payloads<PayloadKind>, 'array' | 'offsets'>): (i: number) => Uint8Array {
    const bytes = asBytes(array)
    const { width } = this
    if (offsets !== undefined) return (i) => bytes.subarray(offsets[i], offsets[i + 1])
    return (i) => bytes.subarray(i * width, (i + 1) * width)
  }

  #short(hash: number, version: number): number {
    return this.width < 4 ? hash : (hash & ~SHORT_VERSION) | (version & SHORT_VERSION)
  }

  #shortVersion(row: Uint8Array, hash: number): number {
    let word = 0
    for (let i = 0; i < Math.min(4, row.length); i++) word |= row[i] << (8 * i)
    const significant = this.width < 4 ? 2 ** (8 * this.width) - 1 : ~SHORT_VERSION
    return ((word ^ hash) & significant) === 0 ? 0 : WRONG
  }
}

function putWord(target: Uint8Array, at: number, end: number, word: number): void {
  for (let byte = at, shift = 0; byte < end && shift < 32; byte++, shift += 8) target[byte] = word >>> shift
}

function getWord(row: Uint8Array, at: number): number {
  return (row[at] | (row[at + 1] << 8) | (row[at + 2] << 16) | (row[at + 3] << 24)) >>> 0
}
