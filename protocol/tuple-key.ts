import { type CutColumn, heldBy } from './columns.js'
import { badRequest, WarpdexError } from './errors.js'
import { shown } from './shown.js'
import type { FixedKeyType, ScalarKeyType } from './types.js'
import { isUtf8 } from './utf8.js'

/** One part of a tuple in JavaScript, or a key that is no tuple. */
export type ScalarKey = number | bigint | string | Uint8Array

/*
 * The encoding of tuples, whose bytes are in the order of the tuples, part by part:
 * integers are big-endian, signed ones with their sign bit flipped; floats are big-endian, positive ones with their sign bit
 * flipped and negative ones with all bits flipped; of strings (as UTF-8) and bytes every 0x00 becomes 0x00 0xff, and 0x00 0x00
 * follows them. -0 is encoded as 0, and NaN is no part of a key.
 */

const ESCAPE = 0xff

/** Grows as tuples are added, so that a batch is encoded without an array for each. */
export class TupleEncoder {
  readonly #parts: readonly ScalarKeyType[]
  readonly #text = new TextEncoder()
  readonly #ends: number[] = [0]
  #bytes = new Uint8Array(256)
  #view = new DataView(this.#bytes.buffer)
  #end = 0

  constructor(parts: readonly ScalarKeyType[]) {
    this.#parts = parts
  }

  /**
   * Adds a tuple, or the leading parts of one.
   *
   * @throws WarpdexError `BAD_REQUEST` for a value that its part cannot hold; the encoder is of no use then
   */
  add(values: readonly ScalarKey[]): void {
    if (values.length > this.#parts.length) {
      throw badRequest(
        `key ${this.#ends.length - 1} has ${values.length} parts; the type has ${this.#parts.length}`,
      )
    }
    // No method of arrays, which would pass over holes.
    for (let i = 0; i < values.length; i++) this.#addPart(this.#parts[i], values[i], i)
    this.#ends.push(this.#end)
  }

  /** What was added. */
  column(): CutColumn {
    if (this.#end > 0xffffffff) throw new WarpdexError('TOO_LARGE', 'a batch has more than 4 GiB of keys')
    return { bytes: this.#bytes.subarray(0, this.#end), offsets: Uint32Array.from(this.#ends) }
  }

  #addPart(type: ScalarKeyType, value: ScalarKey, i: number): void {
    if (type === 'string' || type === 'bytes') {
      const bytes = type === 'string' ? this.#utf8(value) : value
      if (!(bytes instanceof Uint8Array)) throw unfit(value, type, i, this.#ends.length - 1)
      this.#addEscaped(bytes)
      return
    }
    const at = this.#grow(8)
    if (!writeNumber(this.#view, at, type, value)) throw unfit(value, type, i, this.#ends.length - 1)
    this.#end += type.endsWith('64') ? 8 : 4
  }

  #utf8(value: ScalarKey): Uint8Array | undefined {
    return typeof value === 'string' && !hasLoneSurrogate(value) ? this.#text.encode(value) : undefined
  }

  #addEscaped(bytes: Uint8Array): void {
    let at = this.#grow(2 * bytes.length + 2)
    for (const byte of bytes) {
      this.#bytes[at++] = byte
      if (byte === 0) this.#bytes[at++] = ESCAPE
    }
    this.#bytes[at++] = 0
    this.#bytes[at++] = 0
    this.#end = at
  }

  /** Makes room, and says where. */
  #grow(room: number): number {
    if (this.#end + room > this.#bytes.length) {
      const grown = new Uint8Array(2 * (this.#end + room))
      grown.set(this.#bytes.subarray(0, this.#end))
      this.#bytes = grown
      this.#view = new DataView(grown.buffer)
    }
    return this.#end
  }
}

/**
 * The parts of an encoded tuple.
 *
 * @throws WarpdexError `BAD_REQUEST` when it is none
 */
export function decodeTuple(parts: readonly ScalarKeyType[], bytes: Uint8Array): ScalarKey[] {
  const fault = tupleFault(parts, bytes)
  if (fault !== undefined) throw badRequest(fault)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  return parts.map((type) => {
    const start = at
    if (type === 'string' || type === 'bytes') {
      at = partEnd(bytes, at)
      const plain = unescaped(bytes.subarray(start, at - 2))
      return type === 'bytes' ? plain : new TextDecoder('utf-8', { ignoreBOM: true }).decode(plain)
    }
    at += type.endsWith('64') ? 8 : 4
    return readNumber(view, start, type)
  })
}

/** What keeps bytes from being an encoded tuple, or undefined if nothing does. Equal tuples have equal bytes. */
export function tupleFault(parts: readonly ScalarKeyType[], bytes: Uint8Array): string | undefined {
  let at = 0
  for (const [i, type] of parts.entries()) {
    const start = at
    if (type === 'string' || type === 'bytes') {
      at = partEnd(bytes, at)
      if (at < 0)
        return `part ${i} (${type}) is not ended by two zero bytes, or has a zero byte that is not escaped`
      if (type === 'string' && !isEscapedUtf8(bytes.subarray(start, at - 2))) return `part ${i} is not UTF-8`
      continue
    }
    at += type.endsWith('64') ? 8 : 4
    if (at > bytes.length) return `part ${i} (${type}) is cut off`
    if ((type === 'f32' || type === 'f64') && !isFloat(bytes, start, at))
      return `part ${i} (${type}) is NaN or -0`
  }
  return at === bytes.length ? undefined : `there are ${bytes.length - at} bytes behind the last part`
}

/** Where an escaped part ends, its end mark included; -1 if it does not. */
function partEnd(bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(0, start); at >= 0; at = bytes.indexOf(0, at + 2)) {
    if (bytes[at + 1] === 0) return at + 2
    if (bytes[at + 1] !== ESCAPE) return -1
  }
  return -1
}

function isEscapedUtf8(part: Uint8Array): boolean {
  return isUtf8(part.includes(0) ? unescaped(part) : part)
}

function unescaped(part: Uint8Array): Uint8Array {
  const plain = new Uint8Array(part.length)
  let end = 0
  for (let i = 0; i < part.length; i++) {
    plain[end++] = part[i]
    if (part[i] === 0) i++
  }
  return plain.subarray(0, end)
}

/** @returns whether the type can hold the value; nothing is promised of the bytes if not */
function writeNumber(view: DataView, at: number, type: FixedKeyType, value: ScalarKey): boolean {
  const number = heldBy(type, value)
  if (number === undefined || Number.isNaN(number)) return false
  if (typeof number === 'bigint') {
    view.setBigUint64(at, type === 'i64' ? BigInt.asUintN(64, number + (1n << 63n)) : number)
  } else if (type === 'f32' || type === 'f64') {
    const plain = number === 0 ? 0 : number
    if (type === 'f32') view.setFloat32(at, plain)
    else view.setFloat64(at, plain)
    flipFloat(view, at, type)
  } else view.setUint32(at, type === 'u32' ? number : number ^ SIGN)
  return true
}

const SIGN = 0x80000000

/** From IEEE 754 to bits that are in the order of the numbers. */
function flipFloat(view: DataView, at: number, type: 'f32' | 'f64'): void {
  const high = view.getUint32(at)
  const negative = high >= SIGN
  view.setUint32(at, negative ? ~high : high ^ SIGN)
  if (type === 'f64' && negative) view.setUint32(at + 4, ~view.getUint32(at + 4))
}

function readNumber(view: DataView, at: number, type: FixedKeyType): number | bigint {
  if (type === 'u32') return view.getUint32(at)
  if (type === 'i32') return view.getUint32(at) ^ SIGN
  if (type === 'u64') return view.getBigUint64(at)
  if (type === 'i64') return view.getBigUint64(at) - (1n << 63n)
  const high = view.getUint32(at)
  const flip = high < SIGN ? 0xffffffff : 0
  const bits = new DataView(new ArrayBuffer(8))
  bits.setUint32(0, flip === 0 ? high ^ SIGN : ~high)
  if (type === 'f32') return bits.getFloat32(0)
  bits.setUint32(4, view.getUint32(at + 4) ^ flip)
  return bits.getFloat64(0)
}

/** Whether encoded bits stand for a number, and 0 is not negative. */
function isFloat(bytes: Uint8Array, start: number, end: number): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const value = readNumber(view, start, end - start === 8 ? 'f64' : 'f32')
  return !Number.isNaN(value) && !Object.is(value, -0)
}

/** Lone surrogates would all become the same character in UTF-8. */
export function hasLoneSurrogate(text: string): boolean {
  return /\p{Cs}/u.test(text)
}

/** @param key its number among those that were added */
function unfit(value: unknown, type: ScalarKeyType, part: number, key: number): WarpdexError {
  return badRequest(`${shown(value)} is not of type ${type}, which part ${part} of key ${key} must be`)
}
