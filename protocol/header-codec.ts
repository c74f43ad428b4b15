import { badRequest, type WarpdexError } from './errors.js'
import { LIMITS } from './limits.js'
import { utf8Bytes } from './utf8.js'

/*
 * MessagePack of nil, booleans, numbers, texts, arrays, and maps with texts as keys: all that headers of frames are made of. Whole numbers from
 * -2^31 to 2^32 - 1 are written as such, in as few bytes as they take, and other numbers as float 64.
 *
 *   00 - 7f  whole number    c0  nil      c2 c3  false, true      d9 da db  text, its bytes in 8, 16 or 32 bits
 *   80 - 8f  map             ca cb        float 32, 64            dc dd     array, its elements in 16 or 32 bits
 *   90 - 9f  array           cc cd ce cf  u8, u16, u32, u64       de df     map, its entries in 16 or 32 bits
 *   a0 - bf  text            d0 d1 d2 d3  i8, i16, i32, i64       e0 - ff   whole number below 0
 */

const ENCODER = new TextEncoder()
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true })
/** Characters of a text up to which one after the other is faster than a call of the platform's encoder. */
const SHORT_TEXT = 24

/** Lead byte of the first of `NUMBERS`, and of those that counts are, too. */
const FIRST_NUMBER = 0xca
const U8 = 0xcc
const U16 = 0xcd

/** How numbers are read, and of how many bytes, by their lead bytes. */
const NUMBERS: readonly (readonly [bytes: number, read: (view: DataView, at: number) => number])[] = [
  [4, (view, at) => view.getFloat32(at)],
  [8, (view, at) => view.getFloat64(at)],
  [1, (view, at) => view.getUint8(at)],
  [2, (view, at) => view.getUint16(at)],
  [4, (view, at) => view.getUint32(at)],
  [8, (view, at) => Number(view.getBigUint64(at))],
  [1, (view, at) => view.getInt8(at)],
  [2, (view, at) => view.getInt16(at)],
  [4, (view, at) => view.getInt32(at)],
  [8, (view, at) => Number(view.getBigInt64(at))],
]

/**
 * A header as msgpack. Absent fields of objects are left out. A library would understand more, all of which had to be refused before it, and would be most
 * of what a page loads; it is no faster.
 *
 * @throws WarpdexError `BAD_REQUEST` for what is nested too deeply, or cannot be said
 */
export function packHeader(header: object): Uint8Array {
  const writer = new PlainWriter()
  writer.write(header, 1)
  return writer.written()
}

/**
 * The value that plain msgpack holds. Whatever the bytes are, no count is believed that they do not cover, and nothing goes deeper than headers may.
 *
 * @throws WarpdexError `BAD_REQUEST` for anything but one complete value
 */
export function unpackHeader(bytes: Uint8Array): unknown {
  const reader = new PlainReader(bytes)
  const value = reader.read(1)
  reader.finish()
  return value
}

class PlainWriter {
  #bytes = new Uint8Array(256)
  #view = new DataView(this.#bytes.buffer)
  #end = 0

  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#end)
  }

  /** @param level of the value, if it is an array or a map */
  write(value: unknown, level: number): void {
    if (typeof value === 'string') this.#writeText(value)
    else if (typeof value === 'number') this.#writeNumber(value)
    else if (value === null || value === undefined) this.#put(0xc0)
    else if (typeof value === 'boolean') this.#put(value ? 0xc3 : 0xc2)
    else if (Array.isArray(value)) {
      checkLevel(level)
      this.#putCount(value.length, 0x90, 16, 0xdc)
      for (const element of value) this.write(element, level + 1)
    } else if (isFields(value)) {
      checkLevel(level)
      const entries = Object.entries(value).filter(([, field]) => field !== undefined)
      this.#putCount(entries.length, 0x80, 16, 0xde)
      for (const [name, field] of entries) {
        this.#writeText(name)
        this.write(field, level + 1)
      }
    } else throw badRequest(`a frame header cannot hold ${kindOf(value)}`)
  }

  #writeNumber(value: number): void {
    if (value >>> 0 === value) {
      if (value < 0x80) this.#put(value)
      else if (value < 0x100) this.#put(0xcc, 1, value)
      else if (value < 0x10000) this.#put(0xcd, 2, value)
      else this.#put(0xce, 4, value)
    } else if ((value | 0) === value) {
      if (value >= -0x20) this.#put(value)
      else if (value >= -0x80) this.#put(0xd0, 1, value)
      else if (value >= -0x8000) this.#put(0xd1, 2, value)
      else this.#put(0xd2, 4, value)
    } else {
      this.#put(0xcb, 8)
      this.#view.setFloat64(this.#end - 8, value)
    }
  }

  #writeText(text: string): void {
    const bytes = utf8Bytes(text)
    if (bytes < 0x20 || bytes > 0xff) this.#putCount(bytes, 0xa0, 0x20, 0xda)
    else this.#put(0xd9, 1, bytes)
    const start = this.#take(bytes)
    if (bytes > SHORT_TEXT || bytes > text.length) ENCODER.encodeInto(text, this.#bytes.subarray(start))
    else for (let i = 0; i < bytes; i++) this.#bytes[start + i] = text.charCodeAt(i)
  }

  /** A count: below `most` in the lead byte itself, else behind one that says that it has 16 bits, or behind the one after that 32. */
  #putCount(count: number, lead: number, most: number, lead16: number): void {
    if (count < most) this.#put(lead | count)
    else if (count < 0x10000) this.#put(lead16, 2, count)
    else this.#put(lead16 + 1, 4, count)
  }

  /** A lead byte, and room for what follows it: a number of 1, 2 or 4 bytes is put there. */
  #put(lead: number, bytes = 0, value = 0): void {
    const at = this.#take(1 + bytes)
    this.#bytes[at] = lead
    if (bytes === 1) this.#bytes[at + 1] = value
    else if (bytes === 2) this.#view.setUint16(at + 1, value)
    else if (bytes === 4) this.#view.setUint32(at + 1, value)
  }

  /** Room for some bytes. @returns where it is */
  #take(bytes: number): number {
    const start = this.#end
    this.#end += bytes
    if (this.#end > this.#bytes.length) {
      const grown = new Uint8Array(2 * this.#end)
      grown.set(this.#bytes)
      this.#bytes = grown
      this.#view = new DataView(grown.buffer)
    }
    return start
  }
}

class PlainReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  finish(): void {
    if (this.#position !== this.#bytes.length) throw malformed('its length is not that of one value')
  }

  /** @param level of the value, if it is an array or a map */
  read(level: number): unknown {
    const lead = this.#bytes[this.#take(1)]
    if (lead <= 0x7f) return lead
    if (lead <= 0x8f) return this.#readMap(lead & 0x0f, level)
    if (lead <= 0x9f) return this.#readArray(lead & 0x0f, level)
    if (lead <= 0xbf) return this.#readText(lead & 0x1f)
    if (lead >= 0xe0) return lead - 0x100
    switch (lead) {
      case 0xc0:
        return null
      case 0xc2:
      case 0xc3:
        return lead === 0xc3
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#readText(this.#readNumber(U8 + lead - 0xd9))
      case 0xdc:
      case 0xdd:
        return this.#readArray(this.#readNumber(U16 + lead - 0xdc), level)
      case 0xde:
      case 0xdf:
        return this.#readMap(this.#readNumber(U16 + lead - 0xde), level)
      default:
        return this.#readNumber(lead)
    }
  }

  #readNumber(lead: number): number {
    const number = NUMBERS[lead - FIRST_NUMBER]
    if (number === undefined) throw malformed('it holds binary or extension values')
    const [bytes, read] = number
    return read(this.#view, this.#take(bytes))
  }

  #readText(length: number): string {
    const start = this.#take(length)
    if (length <= SHORT_TEXT) {
      let text = ''
      for (let i = start; i < this.#position && this.#bytes[i] < 0x80; i++) {
        text += String.fromCharCode(this.#bytes[i])
      }
      if (text.length === length) return text
    }
    return DECODER.decode(this.#bytes.subarray(start, this.#position))
  }

  #readArray(length: number, level: number): unknown[] {
    this.#expect(length, level)
    const array: unknown[] = []
    for (let i = 0; i < length; i++) array.push(this.read(level + 1))
    return array
  }

  #readMap(size: number, level: number): object {
    this.#expect(2 * size, level)
    const map: Record<string, unknown> = {}
    for (let i = 0; i < size; i++) {
      const name = this.read(level + 1)
      if (typeof name !== 'string') throw malformed('a map has a key that is not text')
      const value = this.read(level + 1)
      // Which would mean something else by assignment.
      if (name === '__proto__') Object.defineProperty(map, name, { value, enumerable: true })
      else map[name] = value
    }
    return map
  }

  /** Refuses a count of values that cannot be there, since each of them takes a byte at least. */
  #expect(values: number, level: number): void {
    checkLevel(level)
    if (values > this.#bytes.length - this.#position) throw malformed('it ends inside a value')
  }

  /** Goes on behind some bytes. @returns where they are */
  #take(bytes: number): number {
    const start = this.#position
    this.#position += bytes
    if (this.#position > this.#bytes.length) throw malformed('it ends inside a value')
    return start
  }
}

/** Whether something is fields by name, and no collection or date. */
function isFields(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value || value instanceof Date)
}

function kindOf(value: unknown): string {
  return `a value of type ${typeof value === 'object' ? value?.constructor.name : typeof value}`
}

function checkLevel(level: number): void {
  if (level <= LIMITS.headerDepth) return
  throw badRequest(`the frame header is nested deeper than ${LIMITS.headerDepth} levels of arrays and maps`)
}

function malformed(what: string): WarpdexError {
  return badRequest(
    `the frame header is not plain msgpack: ${what}; a header is one map of nil, booleans, numbers, strings, arrays and maps`,
  )
}
