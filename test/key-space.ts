import { type Column, columnOf } from '../protocol/columns.js'
import { type ScalarKey, TupleEncoder } from '../protocol/tuple-key.js'
import {
  type FixedKeyType,
  isFixedKeyType,
  isTupleKeyType,
  type KeyType,
  keyBytes,
  type ScalarKeyType,
  tupleParts,
  type VariableKeyType,
} from '../protocol/types.js'
import { concat } from './plain-bytes.js'
import type { Random } from './random.js'

/** Columns of random keys that meet each other often, and of ends of ranges over them. */
export interface KeySpace {
  column(count: number): Column
  bounds(count: number): Column
}

/** Key types of variable length that between them have every kind of part, first, last and in the middle. */
export const VARIABLE_KEY_TYPES: readonly VariableKeyType[] = [
  'string',
  'bytes',
  'tuple(u32,string)',
  'tuple(string,bytes,i64)',
  'tuple(bytes,f64)',
  'tuple(f32,i32,u64,string,bytes,u32,bytes,string)',
]

/** @param longestPart bytes of the longest key or part of a tuple, of variable length; at random if undefined */
export function openKeySpace(random: Random, type: KeyType, longestPart?: number): KeySpace {
  return isFixedKeyType(type)
    ? new FixedKeySpace(random, type)
    : new VariableKeySpace(random, type, longestPart)
}

/** Few heads, many tails, extremes, and any at all. */
class FixedKeySpace implements KeySpace {
  readonly #random: Random
  readonly #type: FixedKeyType
  readonly #heads: Uint8Array[]
  readonly #tailBits: number

  constructor(random: Random, type: FixedKeyType) {
    this.#random = random
    this.#type = type
    const heads = random.pick([1, 4, 64])
    this.#heads = Array.from({ length: heads }, () => random.bytes(keyBytes(type)))
    this.#tailBits = random.pick([4, 8, 12])
  }

  column(count: number): Column {
    return { bytes: concat(Array.from({ length: count }, () => this.#key())), width: keyBytes(this.#type) }
  }

  bounds(count: number): Column {
    return { bytes: numbersOnly(this.column(count).bytes, this.#type), width: keyBytes(this.#type) }
  }

  #key(): Uint8Array {
    const random = this.#random
    const kind = random.below(20)
    if (kind === 0) return random.bytes(keyBytes(this.#type))
    if (kind === 1) return extreme(random, this.#type)
    const key = random.pick(this.#heads).slice()
    const tail = random.below(2 ** this.#tailBits)
    key[0] = tail & 255
    key[1] = (key[1]! & ~(tail >> 8)) | (tail >> 8)
    return key
  }
}

function extreme(random: Random, type: FixedKeyType): Uint8Array {
  if (type === 'f32') {
    return new Uint8Array(
      new Float32Array([random.pick([0, -0, Infinity, -Infinity, NaN, 1e-45, -1])]).buffer,
    )
  }
  if (type === 'f64') {
    return new Uint8Array(
      new Float64Array([random.pick([0, -0, Infinity, -Infinity, NaN, 5e-324, -1])]).buffer,
    )
  }
  const key = new Uint8Array(keyBytes(type)).fill(random.pick([0, 255]))
  if (random.chance(0.5)) key[key.length - 1] ^= 128
  return key
}

/** NaN is no bound. */
function numbersOnly(keys: Uint8Array, type: FixedKeyType): Uint8Array {
  if (type === 'f32') {
    const floats = new Float32Array(keys.slice().buffer)
    return new Uint8Array(floats.map((value) => (Number.isNaN(value) ? 1 : value)).buffer)
  }
  if (type === 'f64') {
    const floats = new Float64Array(keys.slice().buffer)
    return new Uint8Array(floats.map((value) => (Number.isNaN(value) ? 1 : value)).buffer)
  }
  return keys
}

/** Keys drawn again and again from a few hundred, some of which are made to be hard to tell apart. */
class VariableKeySpace implements KeySpace {
  readonly #random: Random
  readonly #keys: Uint8Array[]

  constructor(random: Random, type: VariableKeyType, longestPart: number | undefined) {
    this.#random = random
    const parts = new PartSpace(random, longestPart)
    const count = random.pick([8, 60, 400])
    if (isTupleKeyType(type)) {
      const encoder = new TupleEncoder(tupleParts(type))
      for (let i = 0; i < count; i++) encoder.add(tupleParts(type).map((part) => parts.value(part)))
      const { bytes, offsets } = encoder.column()
      this.#keys = Array.from({ length: count }, (_, i) => bytes.slice(offsets[i], offsets[i + 1]))
    } else {
      this.#keys = Array.from({ length: count }, () => parts.blob(type))
    }
  }

  column(count: number): Column {
    return columnOf(Array.from({ length: count }, () => this.#random.pick(this.#keys)))
  }

  /** Keys, their beginnings, and what follows all keys with a beginning: ends of ranges may be any bytes. */
  bounds(count: number): Column {
    const random = this.#random
    const bound = () => {
      const key = random.pick(this.#keys)
      if (random.chance(0.5)) return key
      if (random.chance(0.1)) return random.bytes(random.below(9))
      const cut = key.slice(0, random.below(key.length + 1))
      if (cut.length > 0 && random.chance(0.5)) cut[cut.length - 1]++
      return random.chance(0.3)
        ? concat([cut, new Uint8Array(random.below(5)).fill(random.pick([0, 255]))])
        : cut
    }
    return columnOf(Array.from({ length: count }, bound))
  }
}

const LONGEST_PART = 500
const LONGEST_KEY = 4096

/** Values of parts. Strings and bytes are made of one another's beginnings, of zeros and of 0xff. */
class PartSpace {
  readonly #random: Random
  readonly #blobs: Uint8Array[] = [
    new Uint8Array(),
    Uint8Array.of(0),
    Uint8Array.of(255),
    Uint8Array.of(0, 255),
  ]
  readonly #texts: Uint8Array[] = [
    new Uint8Array(),
    Buffer.from('\0'),
    Buffer.from('\u{10ffff}'),
    Buffer.from('é'),
  ]
  readonly #numbers: number[]
  readonly #longest: number
  readonly #longestInTuple: number

  constructor(random: Random, longest: number | undefined) {
    this.#random = random
    this.#numbers = [0, 1, 255, 256, 2 ** 31 - 1, ...Array.from({ length: 6 }, () => random.word() >>> 1)]
    this.#longest = longest ?? random.pick([24, LONGEST_PART, LONGEST_KEY])
    this.#longestInTuple = longest ?? LONGEST_PART / 2
  }

  /** A key of type string or bytes. */
  blob(type: 'string' | 'bytes', longest = this.#longest): Uint8Array {
    const blob = (type === 'string' ? this.#text() : this.#bytes()).slice(0, longest)
    const whole = type === 'string' ? wholeCharacters(blob) : blob
    const made = type === 'string' ? this.#texts : this.#blobs
    if (made.length < 200) made.push(whole)
    return whole
  }

  value(type: ScalarKeyType): ScalarKey {
    const random = this.#random
    if (type === 'bytes') return this.blob(type, this.#longestInTuple)
    if (type === 'string') return Buffer.from(this.blob(type, this.#longestInTuple)).toString()
    const value = random.pick(this.#numbers)
    const signed = random.chance(0.5) ? value : -value
    if (type === 'u32') return value
    if (type === 'i32') return random.chance(0.1) ? -(2 ** 31) : signed
    if (type === 'u64')
      return random.chance(0.1) ? 2n ** 64n - 1n : BigInt(value) << BigInt(random.pick([0, 32]))
    if (type === 'i64')
      return random.chance(0.1) ? -(2n ** 63n) : BigInt(signed) << BigInt(random.pick([0, 32]))
    return random.pick([0, -0, Infinity, -Infinity, 2 ** -140, signed, signed / 1024])
  }

  #bytes(): Uint8Array {
    const random = this.#random
    const head = random.pick(this.#blobs)
    switch (random.below(6)) {
      case 0:
        return concat([head, new Uint8Array(random.below(6)).fill(random.pick([0, 255]))])
      case 1:
        return head.slice(0, random.below(head.length + 1))
      case 2:
        return concat([head, head, random.bytes(1)])
      case 3:
        return this.#lastBitFlipped(head)
      case 4:
        return new Uint8Array(this.#longest).fill(random.pick([0, 7, 255]))
      default:
        return concat([head, random.bytes(random.below(9))])
    }
  }

  #text(): Uint8Array {
    const random = this.#random
    const head = random.pick(this.#texts)
    switch (random.below(5)) {
      case 0:
        return concat([head, Buffer.from(random.pick(['\0', '\0\0', 'z', '~', 'é', '日本', '🜁']))])
      case 1:
        return head.slice(0, random.below(head.length + 1))
      case 2:
        return concat([head, head])
      case 3:
        return concat([new Uint8Array(this.#longest - 1).fill(0x61), Uint8Array.of(0x60 + random.below(3))])
      default:
        return concat([head, Buffer.from(String(random.below(1000)))])
    }
  }

  #lastBitFlipped(head: Uint8Array): Uint8Array {
    const flipped = head.slice()
    if (flipped.length > 0) flipped[flipped.length - 1] ^= 1
    return flipped
  }
}

/** UTF-8 without the part of a character that a cut left at its end. */
function wholeCharacters(text: Uint8Array): Uint8Array {
  return new TextEncoder().encode(
    new TextDecoder('utf-8', { ignoreBOM: true }).decode(text, { stream: true }),
  )
}
