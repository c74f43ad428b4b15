/** Slots that are in use at most. */
const FULL = 0.6

/**
 * A hash table from 64-bit keys to payloads of whole words, with open addressing and linear probing, in one typed array: what a
 * processor does at best without leaving JavaScript. A slot is the key's two words, then the payload, so that a probe that hits
 * touches one or two lines of the cache.
 */
export class HashTable {
  readonly payloadWords: number
  readonly #slotWords: number
  #slots: Uint32Array
  #mask: number
  #used = 0
  /** The key 0, which marks empty slots, is kept apart. */
  #zero: Uint32Array | undefined

  /** @param room keys to make room for; it grows past that */
  constructor(payloadWords: number, room: number) {
    this.payloadWords = payloadWords
    // Slots of a power of two do not lie across lines of the cache.
    this.#slotWords = 2 ** Math.ceil(Math.log2(2 + payloadWords))
    const slots = 2 ** Math.ceil(Math.log2(Math.max(16, room / FULL)))
    this.#slots = new Uint32Array(slots * this.#slotWords)
    this.#mask = slots - 1
  }

  /**
   * Looks keys up.
   *
   * @param keys two words each
   * @param payloads gets a payload a key; zeros where there is none
   * @param found gets a bit a key
   * @returns how many there are
   */
  get(keys: Uint32Array, payloads: Uint32Array, found: Uint8Array): number {
    const slots = this.#slots
    const mask = this.#mask
    const slotWords = this.#slotWords
    const width = this.payloadWords
    const count = keys.length >>> 1
    let hits = 0
    for (let i = 0; i < count; i++) {
      const low = keys[2 * i]!
      const high = keys[2 * i + 1]!
      if ((low | high) === 0) {
        if (this.#zero === undefined) continue
        payloads.set(this.#zero, i * width)
        found[i >> 3]! |= 1 << (i & 7)
        hits++
        continue
      }
      let slot = hash(low, high) & mask
      for (;;) {
        const at = slot * slotWords
        const slotLow = slots[at]!
        const slotHigh = slots[at + 1]!
        if (slotLow === low && slotHigh === high) {
          for (let word = 0; word < width; word++) payloads[i * width + word] = slots[at + 2 + word]!
          found[i >> 3]! |= 1 << (i & 7)
          hits++
          break
        }
        if ((slotLow | slotHigh) === 0) break
        slot = (slot + 1) & mask
      }
    }
    return hits
  }

  /** Stores payloads, in the places of those that are there. */
  set(keys: Uint32Array, payloads: Uint32Array): void {
    const count = keys.length >>> 1
    const width = this.payloadWords
    if ((this.#used + count) / FULL > this.#mask + 1) this.#grow(this.#used + count)
    for (let i = 0; i < count; i++) this.#setOne(keys[2 * i]!, keys[2 * i + 1]!, payloads, i * width)
  }

  #setOne(low: number, high: number, payloads: Uint32Array, from: number): void {
    const width = this.payloadWords
    if ((low | high) === 0) {
      this.#zero = payloads.slice(from, from + width)
      return
    }
    let slot = hash(low, high) & this.#mask
    for (;;) {
      const at = slot * this.#slotWords
      const isEmpty = (this.#slots[at]! | this.#slots[at + 1]!) === 0
      if (isEmpty || (this.#slots[at] === low && this.#slots[at + 1] === high)) {
        if (isEmpty) this.#used++
        this.#slots[at] = low
        this.#slots[at + 1] = high
        for (let word = 0; word < width; word++) this.#slots[at + 2 + word] = payloads[from + word]!
        return
      }
      slot = (slot + 1) & this.#mask
    }
  }

  #grow(room: number): void {
    const old = this.#slots
    const slots = 2 ** Math.ceil(Math.log2((2 * room) / FULL))
    this.#slots = new Uint32Array(slots * this.#slotWords)
    this.#mask = slots - 1
    this.#used = 0
    for (let at = 0; at < old.length; at += this.#slotWords) {
      if ((old[at]! | old[at + 1]!) !== 0) this.#setOne(old[at]!, old[at + 1]!, old, at + 2)
    }
  }
}

function hash(low: number, high: number): number {
  let h = Math.imul(low ^ (high >>> 15), 0x85ebca6b) ^ Math.imul(high, 0xc2b2ae35)
  h ^= h >>> 15
  return h
}
