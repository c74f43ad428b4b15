import { asBytes, KEY_ARRAYS } from '../../protocol/columns.js'
import { isFixedKeyType, type KeyType } from '../../protocol/types.js'
import type { Keys } from '../sdk/index.js'
import { mix } from './random.js'

/** Key types that a load test has keys of. */
export const KEY_TYPES = ['u32', 'i32', 'u64', 'i64', 'f64', 'string', 'bytes'] as const
export type TestKeyType = (typeof KEY_TYPES)[number]

/** 32-bit words of one key: strings are `user` and 16 hex digits, bytes are 16. */
const KEY_WORDS: Readonly<Record<TestKeyType, number>> = {
  u32: 1,
  i32: 1,
  u64: 2,
  i64: 2,
  f64: 2,
  string: 5,
  bytes: 4,
}

/** The bytes of `user` as a little-endian word. */
const USER = 0x72657375

/**
 * The keys of a load test: item n of the data set has a key that follows from n and the seed. Keys of different items differ, and
 * are scattered over the whole range of their type.
 */
export class KeySpace {
  readonly keyType: TestKeyType
  /** 32-bit words of a key. */
  readonly words: number
  readonly #low: number
  readonly #high: number
  #offsets = new Uint32Array(1)

  constructor(keyType: TestKeyType, seed: number) {
    this.keyType = keyType
    this.words = KEY_WORDS[keyType]
    this.#low = mix(seed ^ 0x243f6a88)
    this.#high = mix(seed ^ 0x85a308d3)
  }

  /** Writes the keys of the first `count` items to the start of `target`. */
  write(items: Uint32Array, count: number, target: Uint32Array): void {
    const { words } = this
    if (this.keyType === 'f64') {
      this.#writeFloats(items, count, target)
      return
    }
    for (let i = 0, at = 0; i < count; i++, at += words) {
      const low = mix(items[i] ^ this.#low)
      if (words === 1) {
        target[at] = low
        continue
      }
      const high = mix(items[i] ^ this.#high)
      if (words === 5) {
        writeName(target, at, low, high)
        continue
      }
      target[at] = low
      target[at + 1] = high
      if (words === 4) {
        target[at + 2] = mix(low)
        target[at + 3] = mix(high)
      }
    }
  }

  /** The first `count` keys of a column of words as the client takes them: a view. */
  column(words: Uint32Array, count: number): Keys<KeyType> {
    const { keyType } = this
    if (isFixedKeyType(keyType)) {
      const Column = KEY_ARRAYS[keyType]
      return new Column(words.buffer, words.byteOffset, count)
    }
    return { bytes: asBytes(words.subarray(0, count * this.words)), offsets: this.#offsetsOf(count) }
  }

  /** 32 bits that follow from key number i of a column of words, for payloads to tell what key they belong to. */
  hash(words: Uint32Array, i: number): number {
    let hash = 0x6a09e667
    const end = (i + 1) * this.words
    for (let at = i * this.words; at < end; at++) hash = mix(hash ^ words[at])
    return hash
  }

  #writeFloats(items: Uint32Array, count: number, target: Uint32Array): void {
    const floats = new Float64Array(target.buffer, target.byteOffset, count)
    for (let i = 0; i < count; i++) {
      const high = mix(items[i] ^ this.#high)
      const value = ((high & 0xfffff) * 2 ** 32 + mix(items[i] ^ this.#low)) / 2 ** 20
      // 0 and -0 are the same key.
      floats[i] = value === 0 || high < 2 ** 31 ? value : -value
    }
  }

  #offsetsOf(count: number): Uint32Array {
    if (this.#offsets.length <= count) {
      this.#offsets = Uint32Array.from({ length: count + 1 }, (_, i) => i * this.words * 4)
    }
    return this.#offsets.subarray(0, count + 1)
  }
}

function writeName(target: Uint32Array, at: number, low: number, high: number): void {
  target[at] = USER
  target[at + 1] = hexDigits(high >>> 16)
  target[at + 2] = hexDigits(high & 0xffff)
  target[at + 3] = hexDigits(low >>> 16)
  target[at + 4] = hexDigits(low & 0xffff)
}

/** The four hex digits of 16 bits as characters in a little-endian word, the highest first. */
function hexDigits(bits: number): number {
  const spread = ((bits >> 12) | (bits & 0xf00) | ((bits & 0xf0) << 12) | ((bits & 0xf) << 24)) >>> 0
  // A digit above 9 carries into the fourth bit when 6 is added, and letters stand 39 places after that.
  const letters = ((spread + 0x06060606) >>> 4) & 0x01010101
  return (spread + 0x30303030 + letters * 39) >>> 0
}
