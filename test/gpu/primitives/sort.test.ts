import fc from 'fast-check'
import t from 'tap'
import type { KeyWords } from '../../../gpu/primitives/primitives.js'
import { everyOther, seedOfRun } from '../../random.js'
import { anyLength, anySeed, check, LENGTHS, type Run, randomWords, same, withEachStrategy } from './bed.js'

/** A word of a key from a random word, the key's position, and whether the word is the high one. */
type Shape = (random: number, position: number, high: boolean) => number

/** In the last two, one word of wide keys is always the same. */
const SHAPES: Readonly<Record<string, Shape>> = {
  random: (random) => random,
  few: (random) => (random % 3 === 0 ? 0xffffffff : random % 5),
  equal: () => 0x80ff7f01,
  ascending: (_, position) => position >>> 2,
  descending: (_, position) => 2 ** 32 - 1 - position,
  equalLow: (random, _, high) => (high ? random : 0xfffffffe),
  equalHigh: (random, _, high) => (high ? 3 : random),
}

/** Keys, low word first. */
function makeKeys(shape: string, seed: number, count: number, keyWords: KeyWords): Uint32Array {
  return randomWords(seed, count * keyWords).map((word, i) =>
    SHAPES[shape]!(word, Math.floor(i / keyWords), i % keyWords === 1),
  )
}

/** The lowest bits of a key as a number that compares like it: the high and the low word. */
function maskedKey(keys: Uint32Array, i: number, keyWords: KeyWords, bits: number): [number, number] {
  const mask = (word: number, width: number) =>
    width >= 32 ? word : (word & (2 ** Math.max(0, width) - 1)) >>> 0
  return [keyWords === 2 ? mask(keys[2 * i + 1]!, bits - 32) : 0, mask(keys[i * keyWords]!, bits)]
}

/**
 * Sorts by position and checks that the pairs ascend strictly, by key and then by position, and that each key is the one at its
 * position: then the positions are distinct, and the order is the only stable one. Then sorts values and compares orders.
 */
async function sortAndCheck(
  run: Run,
  keys: Uint32Array,
  keyWords: KeyWords,
  bits = 32 * keyWords,
): Promise<void> {
  const count = keys.length / keyWords
  const values = randomWords(count + 1, count)
  const [sortedKeys, order, keysAgain, sortedValues, keysAfter] = await run(
    ({ primitives, recorder, scratch, upload }) => {
      const input = upload(keys)
      const options = bits === 32 * keyWords ? undefined : { bits }
      const byPosition = primitives.sort(recorder, scratch, input, undefined, count, keyWords, options)
      const byValue = primitives.sort(recorder, scratch, input, upload(values), count, keyWords, options)
      return [
        [byPosition.keys, count * keyWords],
        [byPosition.values, count],
        [byValue.keys, count * keyWords],
        [byValue.values, count],
        [input, count * keyWords],
      ]
    },
  )
  same(keysAfter!, keys)
  same(keysAgain!, sortedKeys!)
  let [lastHigh, lastLow] = [0, 0]
  for (let i = 0; i < count; i++) {
    const position = order![i]!
    if (position >= count) throw new Error(`pair ${i} comes from ${position}, past the end`)
    for (let word = 0; word < keyWords; word++) {
      if (sortedKeys![i * keyWords + word] !== keys[position * keyWords + word]) {
        throw new Error(`pair ${i} is not the one at ${position}`)
      }
    }
    const [high, low] = maskedKey(keys, position, keyWords, bits)
    const ascends =
      high > lastHigh ||
      (high === lastHigh && (low > lastLow || (low === lastLow && (i === 0 || position > order![i - 1]!))))
    if (!ascends) throw new Error(`pair ${i} does not come after the one before it`)
    ;[lastHigh, lastLow] = [high, low]
  }
  same(
    sortedValues!,
    order!.map((position) => values[position]!),
  )
}

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

t.test('every length around a boundary', (t) =>
  withEachStrategy(t, async (_t, run, strategy) => {
    // On a software adapter the kernels for subgroups have most of their boundaries below, and take long.
    const longest = strategy === 'subgroups' ? 8200 : 20_000
    // Each length with keys of one width.
    for (const keyWords of [1, 2] as const) {
      for (const count of everyOther(LENGTHS, seed + keyWords)) {
        if (count > longest) continue
        await sortAndCheck(run, makeKeys('random', count + 1, count, keyWords), keyWords)
      }
    }
  }),
)

t.test('keys of every shape, by all bits and by fewer', (t) =>
  withEachStrategy(t, (t, run, strategy) =>
    check(
      t,
      fc.record({
        count: anyLength.filter((count) => count <= 10_000),
        seed: anySeed,
        shape: fc.constantFrom(...Object.keys(SHAPES)),
        keyWords: fc.constantFrom(1 as const, 2 as const),
        bits: fc.option(fc.integer({ min: 1, max: 64 }), { nil: 64 }),
      }),
      ({ count, seed, shape, keyWords, bits }) =>
        sortAndCheck(run, makeKeys(shape, seed, count, keyWords), keyWords, Math.min(bits, 32 * keyWords)),
      strategy === 'subgroups' ? 20 : 40,
    ),
  ),
)

/** So many that the kernels for subgroups take their long tiles. */
function inLongTiles(software: boolean): number {
  return software ? 2 ** 16 + 77 : 2 ** 22 + 77
}

t.test('many pairs, on a GPU a million', (t) =>
  withEachStrategy(t, (_t, run, strategy, software) => {
    const many = software ? 2 ** 18 + 77 : 2 ** 20 + 77
    const count = strategy === 'subgroups' ? inLongTiles(software) : many
    return sortAndCheck(run, makeKeys('random', 3, count, 1), 1)
  }),
)

t.test('a hundred thousand pairs with wide keys', (t) =>
  withEachStrategy(t, (_t, run, strategy, software) => {
    const count = strategy === 'subgroups' ? inLongTiles(software) : 100_000
    return sortAndCheck(run, makeKeys('random', 4, count, 2), 2)
  }),
)
