/** Bytes of a string that DuckDB keeps within its cell. */
export const INLINE_BYTES = 12
/** Words of a cell. */
const CELL = 4

/**
 * Numbers different strings from 0 on as they come, without a JavaScript string for any. A string comes as a cell of a vector of DuckDB: its length, its first four
 * bytes, and the next eight, or where all of them are.
 */
export class DistinctStrings {
  size = 0
  #bytes = new Uint8Array(2 ** 12)
  #offsets = new Uint32Array(2 ** 8 + 1)
  /** What tells a string from others: its cell, of which long ones have a hash in place of the pointer. */
  #cells = new Uint32Array(2 ** 8 * CELL)
  /** Numbers plus one, by hashes; at most half of the slots are taken. */
  #slots = new Uint32Array(2 ** 9)

  /** Bytes of all of them. */
  get byteLength(): number {
    return this.#offsets[this.size]
  }

  /**
   * The number of a string.
   * @param cell is at this word of `cells`
   * @param from where its bytes begin in `bytes`
   */
  numberOf(cells: Uint32Array, cell: number, bytes: Uint8Array, from: number): number {
    const length = cells[cell]
    const isInline = length <= INLINE_BYTES
    const head = cells[cell + 1]
    const middle = isInline ? cells[cell + 2] : hashOf(bytes, from, length)
    const tail = isInline ? cells[cell + 3] : 0
    const slots = this.#slots
    const own = this.#cells
    const mask = slots.length - 1
    for (let slot = mixed(length, head, middle, tail) & mask; ; slot = (slot + 1) & mask) {
      const number = slots[slot] - 1
      if (number < 0) return this.#add([length, head, middle, tail], bytes, from, slot)
      const at = number * CELL
      if (
        own[at] === length &&
        own[at + 1] === head &&
        own[at + 2] === middle &&
        own[at + 3] === tail &&
        (isInline || this.#isThere(number, bytes, from))
      ) {
        return number
      }
    }
  }

  /** Their bytes one after the other, and where each begins; the last offset is the end. */
  get column(): { readonly bytes: Uint8Array; readonly offsets: Uint32Array } {
    const offsets = this.#offsets.subarray(0, this.size + 1)
    return { bytes: this.#bytes.subarray(0, this.byteLength), offsets }
  }

  #isThere(number: number, bytes: Uint8Array, from: number): boolean {
    const own = this.#bytes
    const end = this.#offsets[number + 1]
    for (let i = this.#offsets[number], other = from; i < end; i++, other++) {
      if (own[i] !== bytes[other]) return false
    }
    return true
  }

  #add(cell: readonly number[], bytes: Uint8Array, from: number, slot: number): number {
    const number = this.size
    if ((number + 1) * CELL > this.#cells.length) this.#grow()
    const start = this.#offsets[number]
    const end = start + cell[0]
    if (end > this.#bytes.length) this.#bytes = grown(this.#bytes, Math.max(end, 2 * this.#bytes.length))
    for (let i = start, other = from; i < end; i++, other++) this.#bytes[i] = bytes[other]
    this.#offsets[number + 1] = end
    this.#cells.set(cell, number * CELL)
    this.#slots[slot] = number + 1
    this.size++
    if (2 * this.size > this.#slots.length) this.#spread()
    return number
  }

  #grow(): void {
    const count = (2 * this.#cells.length) / CELL
    this.#cells = grown(this.#cells, count * CELL)
    this.#offsets = grown(this.#offsets, count + 1)
  }

  #spread(): void {
    const slots = new Uint32Array(4 * this.#slots.length)
    const mask = slots.length - 1
    const cells = this.#cells
    for (let number = 0, at = 0; number < this.size; number++, at += CELL) {
      let slot = mixed(cells[at], cells[at + 1], cells[at + 2], cells[at + 3]) & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = number + 1
    }
    this.#slots = slots
  }
}

function grown<T extends Uint8Array | Uint32Array>(array: T, length: number): T {
  const larger = new (array.constructor as new (length: number) => T)(length)
  larger.set(array)
  return larger
}

function hashOf(bytes: Uint8Array, from: number, length: number): number {
  let hash = 0x811c9dc5
  for (let i = from, end = from + length; i < end; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193)
  return hash >>> 0
}

/** The low bits are good ones. */
function mixed(a: number, b: number, c: number, d: number): number {
  let hash = Math.imul(a ^ Math.imul(b, 0x85ebca6b), 0xc2b2ae35)
  hash = Math.imul(hash ^ (hash >>> 15) ^ c, 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 13) ^ d, 0x297a2d39)
  return (hash ^ (hash >>> 16)) >>> 0
}
