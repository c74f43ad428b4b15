import { WarpdexError } from '../../../protocol/errors.js'
import type { ColumnShape } from '../columns.js'

/** An unsigned number of 1 to 32 bits, to be packed with others. */
export interface Attribute {
  readonly name: string
  readonly bits: number
}

/** Words of a tuple as kernels number them; a key or payload of one word is its low one. */
export const WORD = { keyLow: 0, keyHigh: 1, payloadLow: 2, payloadHigh: 3 } as const

/** Where an attribute lies in its tuple. No attribute lies in two words. */
export interface Field extends Attribute {
  /** One of `WORD`. */
  readonly word: number
  /** Bits of the word below it. */
  readonly shift: number
}

/** How attributes are packed into tuples. */
export interface TupleLayout {
  readonly shape: ColumnShape
  /** Most significant first. */
  readonly key: readonly Field[]
  readonly values: readonly Field[]
}

/** Words of a key, and of a payload, at most. */
const MOST_WORDS = 2

/**
 * Packs attributes into tuples, the key's first attribute into its highest bits (Diamos Figure 1), so that keys are in the
 * order of their attributes. Attributes of one word end at its lowest bit.
 *
 * ```
 * key      | a: 8 | b: 24 |          payload    | 0: 8 | c: 16 | d: 8 |
 * ```
 * @throws WarpdexError `BAD_REQUEST` if attributes have no bits or too many, do not fit into two words, or share a name
 */
export function layOut(key: readonly Attribute[], values: readonly Attribute[] = []): TupleLayout {
  const names = new Set([...key, ...values].map(({ name }) => name))
  if (names.size !== key.length + values.length) {
    throw new WarpdexError('BAD_REQUEST', 'two attributes of a tuple have the same name; names must differ')
  }
  const keyWords = pack(key)
  const valueWords = pack(values)
  const keyCount = keyWords.length
  const valueCount = valueWords.length
  if (keyCount === 0) throw new WarpdexError('BAD_REQUEST', 'a tuple needs a key of at least one attribute')
  if (keyCount > MOST_WORDS || valueCount > MOST_WORDS) {
    throw new WarpdexError(
      'BAD_REQUEST',
      `the key takes ${keyCount} words and the other attributes ${valueCount}; each may take ${MOST_WORDS}`,
    )
  }
  return {
    shape: {
      keyWords: keyCount === 2 ? 2 : 1,
      payloadWords: valueCount === 2 ? 2 : valueCount === 1 ? 1 : 0,
    },
    key: place(keyWords, WORD.keyLow),
    values: place(valueWords, WORD.payloadLow),
  }
}

/** @throws WarpdexError `BAD_REQUEST` if there is none of that name */
export function fieldOf({ key, values }: TupleLayout, name: string): Field {
  const field = [...key, ...values].find((one) => one.name === name)
  if (field !== undefined) return field
  throw new WarpdexError('BAD_REQUEST', `there is no attribute ${JSON.stringify(name)} in the tuple`)
}

/** The words that attributes go to, one after the other, each as full as it gets. */
function pack(attributes: readonly Attribute[]): Attribute[][] {
  const words: Attribute[][] = []
  let free = 0
  for (const attribute of attributes) {
    const { name, bits } = attribute
    if (!Number.isInteger(bits) || bits < 1 || bits > 32) {
      throw new WarpdexError(
        'BAD_REQUEST',
        `attribute ${JSON.stringify(name)} has ${bits} bits; 1 to 32 are right`,
      )
    }
    if (bits > free) {
      words.push([])
      free = 32
    }
    words.at(-1)!.push(attribute)
    free -= bits
  }
  return words
}

/** Fields of packed words, of which the first is the highest. */
function place(words: readonly Attribute[][], lowest: number): Field[] {
  return words.flatMap((attributes, i) => {
    let shift = attributes.reduce((sum, { bits }) => sum + bits, 0)
    return attributes.map(({ name, bits }) => {
      shift -= bits
      return { name, bits, shift, word: lowest + words.length - 1 - i }
    })
  })
}
