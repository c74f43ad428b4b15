import { gatherKeys, type KeyBlob, scattered } from '../../keys.js'
import type { DataSet } from './data-sets.js'
import type { Loaded } from './subject.js'

const CHECKED = 512

/** Keys of a set beyond those of an index, which it must not find. */
const ABSENT = 256

/**
 * Looks keys up that an index of the first `count` keys of a set has, that it has not, and that are like either but for a byte more
 * or less at the end. Made once, it checks any number of indexes.
 */
export class AnswerCheck {
  readonly #numbers: Uint32Array
  readonly #count: number
  readonly #known: KeyBlob
  readonly #unknown: KeyBlob

  constructor(set: DataSet, count: number) {
    this.#count = count
    this.#numbers = Uint32Array.from({ length: CHECKED }, (_, i) => {
      return i % 2 === 0 ? scattered(i) % count : count + (scattered(i) % ABSENT)
    })
    this.#known = gatherKeys(set.keys(count + ABSENT), this.#numbers)
    this.#unknown = withOtherEnds(this.#known)
  }

  /** @throws Error that names the first wrong answer */
  async run(loaded: Loaded): Promise<void> {
    const numbers = this.#numbers
    await compare(loaded, this.#known, (i) => (numbers[i]! < this.#count ? numbers[i]! + 1 : 0))
    await compare(loaded, this.#unknown, () => 0)
  }
}

async function compare(loaded: Loaded, queries: KeyBlob, expected: (i: number) => number): Promise<void> {
  const answers = await loaded.answers(queries)
  for (let i = 0; i < answers.length; i++) {
    if (answers[i] !== expected(i)) {
      const key = Buffer.from(queries.bytes.subarray(queries.offsets[i], queries.offsets[i + 1]))
      throw new Error(`${key.toString('latin1')}: answer ${answers[i]}, not ${expected(i)}`)
    }
  }
}

/** Every key without its last byte, or with one more. */
function withOtherEnds({ offsets, bytes }: KeyBlob): KeyBlob {
  const keys = Array.from({ length: offsets.length - 1 }, (_, i) => {
    const key = bytes.subarray(offsets[i], offsets[i + 1])
    return i % 2 === 0 ? key.subarray(0, -1) : Uint8Array.of(...key, 0x20)
  })
  const ends = new Uint32Array(offsets.length)
  keys.forEach((key, i) => {
    ends[i + 1] = ends[i]! + key.length
  })
  return { offsets: ends, bytes: Buffer.concat(keys) }
}
