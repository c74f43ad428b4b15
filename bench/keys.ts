/** The finaliser of MurmurHash3: a bijection of 32-bit numbers, so that distinct numbers give distinct, scattered keys. */
export function scattered(i: number): number {
  let h = i
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** Keys number `first` to `first + count` of one fixed random sequence of distinct keys, as wire bytes. */
export function scatteredKeys(keyWords: 1 | 2, first: number, count: number): Uint8Array {
  const words = new Uint32Array(count * keyWords)
  for (let i = 0; i < count; i++) writeKey(words, i, keyWords, first + i)
  return new Uint8Array(words.buffer)
}

/** Keys of the same sequence with random numbers below `bound`. */
export function sampledKeys(
  keyWords: 1 | 2,
  bound: number,
  count: number,
): { keys: Uint8Array; numbers: Uint32Array } {
  const words = new Uint32Array(count * keyWords)
  const numbers = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    numbers[i] = Math.floor((scattered(i + 0x5bd1e995) / 2 ** 32) * bound)
    writeKey(words, i, keyWords, numbers[i]!)
  }
  return { keys: new Uint8Array(words.buffer), numbers }
}

function writeKey(words: Uint32Array, at: number, keyWords: 1 | 2, number: number): void {
  if (keyWords === 1) {
    words[at] = scattered(number)
  } else {
    words[2 * at] = scattered(number)
    words[2 * at + 1] = scattered(number ^ 0x2545f491)
  }
}

/** Payloads that say which number a key has, so that answers can be checked. */
export function numberedPayloads(payloadWords: number, first: number, count: number): Uint8Array {
  const words = new Uint32Array(count * payloadWords)
  for (let i = 0; i < count; i++) words[i * payloadWords] = first + i
  return new Uint8Array(words.buffer)
}

/** The same of keys with these numbers. */
export function payloadsOf(numbers: Uint32Array, payloadWords: number): Uint8Array {
  const words = new Uint32Array(numbers.length * payloadWords)
  for (let i = 0; i < numbers.length; i++) words[i * payloadWords] = numbers[i]!
  return new Uint8Array(words.buffer)
}

/** Keys of variable length as on the wire. */
export interface KeyBlob {
  readonly offsets: Uint32Array
  readonly bytes: Uint8Array
}

const SECTIONS = ['books', 'garden', 'music', 'office', 'outdoor', 'photography', 'toys', 'vegetables']

/** Addresses of pages of one site, 60 bytes on average, in a scattered order; about one in 200 comes twice. */
export function urlKeys(count: number): KeyBlob {
  return keyBlob(count, (i) => {
    const random = scattered(i)
    const section = SECTIONS[random & 7]!
    const article = scattered(random % (100 * count)).toString(36)
    return `https://www.example.com/shop/${section}/article-${article}/${'reviews/page/2'.slice(0, random >>> 28)}`
  })
}

/** Keys of 16 scattered bytes. */
export function uuidKeys(count: number): KeyBlob {
  const words = Uint32Array.from({ length: 4 * count }, (_, i) => scattered(i))
  return {
    offsets: Uint32Array.from({ length: count + 1 }, (_, i) => 16 * i),
    bytes: new Uint8Array(words.buffer),
  }
}

/** Keys of 128 scattered characters. */
export function longKeys(count: number): KeyBlob {
  return keyBlob(count, (i) => {
    let key = ''
    for (let part = 0; key.length < 128; part++)
      key += scattered(scattered(i) ^ part)
        .toString(36)
        .padStart(7, '0')
    return key.slice(0, 128)
  })
}

/** Random ones of the given keys. */
export function pickKeys(keys: KeyBlob, count: number, picks: number): KeyBlob {
  const numbers = Uint32Array.from({ length: picks }, (_, i) => (scattered(i + 0x5bd1e995) / 2 ** 32) * count)
  return gatherKeys(keys, numbers)
}

/** The keys with these numbers. */
export function gatherKeys({ offsets, bytes }: KeyBlob, numbers: Uint32Array): KeyBlob {
  const gathered = { offsets: new Uint32Array(numbers.length + 1), bytes: new Uint8Array(0) }
  numbers.forEach((number, i) => {
    gathered.offsets[i + 1] = gathered.offsets[i]! + offsets[number + 1]! - offsets[number]!
  })
  gathered.bytes = new Uint8Array(gathered.offsets[numbers.length]!)
  numbers.forEach((number, i) => {
    gathered.bytes.set(bytes.subarray(offsets[number], offsets[number + 1]), gathered.offsets[i])
  })
  return gathered
}

/** A column of keys whose characters are all of Latin-1. */
export function keyBlob(count: number, key: (i: number) => string): KeyBlob {
  const keys = Array.from({ length: count }, (_, i) => key(i))
  const offsets = new Uint32Array(count + 1)
  for (let i = 0; i < count; i++) offsets[i + 1] = offsets[i]! + keys[i]!.length
  return { offsets, bytes: Buffer.from(keys.join(''), 'latin1') }
}
