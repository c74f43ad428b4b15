/** The finaliser of MurmurHash3: a bijection of 32-bit numbers that scatters them. */
export function mix(number: number): number {
  let h = number
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** Seeded random numbers (sfc32, Doty-Humphrey's small fast chaotic generator): the same seed and stream give the same ones. */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  /** @param stream tells apart the generators that share a seed */
  constructor(seed: number, stream: number) {
    this.#a = mix(seed)
    this.#b = mix(stream ^ 0x9e3779b9)
    this.#c = mix(seed ^ mix(stream))
    for (let i = 0; i < 12; i++) this.word()
  }

  /** 32 random bits. */
  word(): number {
    const sum = (this.#a + this.#b + this.#counter++) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** A number from 0 to before 1, with all the bits that it can have. */
  fraction(): number {
    return ((this.word() >>> 5) * 0x4000000 + (this.word() >>> 6)) / 2 ** 53
  }

  /** A whole number from 0 to before `bound`, which is at most 2^32. */
  below(bound: number): number {
    return Math.floor((this.word() / 2 ** 32) * bound)
  }
}
