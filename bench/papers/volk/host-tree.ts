import type { KeyBlob } from '../../keys.js'

const SLOTS = 16

/** Words that a tree begins with. */
const FIRST_WORDS = 2 ** 16

/**
 * The prefix tree of Volk §2.1 in the host's memory, as a sequential baseline: digits of 4 bits, 16 slots a node, every key down all
 * of its levels. So that no key is a prefix of another, a zero becomes 00 ff and 00 00 ends the key, as on the device.
 */
export class HostTree {
  /** 16 words a node: numbers of nodes, or, below a key's last digit, the key's number plus one; 0 where there is none. */
  #slots = new Uint32Array(FIRST_WORDS)
  #nodes = 1

  /** A tree of keys, all distinct. */
  constructor({ offsets, bytes }: KeyBlob) {
    for (let key = 0; key + 1 < offsets.length; key++)
      this.#insert(bytes, offsets[key]!, offsets[key + 1]!, key)
  }

  get bytes(): number {
    return this.#nodes * SLOTS * 4
  }

  /** Looks keys number `first` to before `end` of a column up: the number of each in the tree plus one, 0 where there is none. */
  get({ offsets, bytes }: KeyBlob, first: number, end: number, answers: Uint32Array): void {
    for (let key = first; key < end; key++) {
      answers[key - first] = this.#find(bytes, offsets[key]!, offsets[key + 1]!)
    }
  }

  /** An empty slot leads to the root, from which no path is followed: the root is nobody's child. */
  #find(bytes: Uint8Array, start: number, end: number): number {
    const slots = this.#slots
    let node = 0
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!
      node = slots[node * SLOTS + (byte >> 4)]!
      if (node === 0) return 0
      node = slots[node * SLOTS + (byte & 15)]!
      if (node === 0) return 0
      if (byte === 0) {
        for (let digit = 0; digit < 2; digit++) {
          node = slots[node * SLOTS + 15]!
          if (node === 0) return 0
        }
      }
    }
    for (let digit = 0; digit < 4; digit++) {
      node = slots[node * SLOTS]!
      if (node === 0) return 0
    }
    return node
  }

  #insert(bytes: Uint8Array, start: number, end: number, key: number): void {
    let node = 0
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!
      node = this.#child(this.#child(node, byte >> 4), byte & 15)
      if (byte === 0) node = this.#child(this.#child(node, 15), 15)
    }
    for (let digit = 0; digit < 3; digit++) node = this.#child(node, 0)
    this.#slots[node * SLOTS] = key + 1
  }

  /** The node that a slot leads to, made if there is none. */
  #child(node: number, digit: number): number {
    const slot = node * SLOTS + digit
    if (this.#slots[slot] === 0) {
      if ((this.#nodes + 1) * SLOTS > this.#slots.length) this.#grow()
      this.#slots[slot] = this.#nodes++
    }
    return this.#slots[slot]!
  }

  #grow(): void {
    const grown = new Uint32Array(2 * this.#slots.length)
    grown.set(this.#slots)
    this.#slots = grown
  }
}
