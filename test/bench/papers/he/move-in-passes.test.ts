import fc from 'fast-check'
import t from 'tap'
import { MovementInPasses } from '../../../../bench/papers/he/move-in-passes.js'
import {
  anyLength,
  anySeed,
  check,
  randomWords,
  same,
  withEachStrategy,
} from '../../../gpu/primitives/bed.js'

const UNTOUCHED = 0xdeadbeef

/** A random order of the numbers below `count`. */
function permutation(seed: number, count: number): Uint32Array {
  const random = randomWords(seed, count)
  return Uint32Array.from(random.keys()).sort((a, b) => random[a]! - random[b]! || a - b)
}

t.test('gather and scatter in any number of passes, of elements of 1 to 4 words', (t) =>
  withEachStrategy(t, (t, run) =>
    check(
      t,
      fc.record({
        count: anyLength.filter((count) => count <= 5000),
        seed: anySeed,
        words: fc.integer({ min: 1, max: 4 }),
        spread: fc.constantFrom(1, 2, 3),
        passes: fc.constantFrom(1, 2, 3, 8),
      }),
      async ({ count, seed, words, spread, passes }) => {
        // The indices are distinct, in no order, and leave holes where they are spread out.
        const range = count * spread
        const indices = permutation(seed, count).map((i) => i * spread)
        const source = randomWords(seed + 1, range * words)
        const [gathered, scattered] = await run(async ({ device, recorder, scratch, upload }) => {
          const movement = new MovementInPasses(device)
          const gathered = scratch.words(count * words)
          const scattered = upload(new Uint32Array(range * words).fill(UNTOUCHED))
          const move = { indices: upload(indices), count, words, range, passes }
          movement.recordGather(recorder, { ...move, source: upload(source), output: gathered })
          movement.recordScatter(recorder, { ...move, source: gathered, output: scattered })
          return [
            [gathered, count * words],
            [scattered, range * words],
          ]
        })
        const wantedGathered = new Uint32Array(count * words)
        const wantedScattered = new Uint32Array(range * words).fill(UNTOUCHED)
        indices.forEach((index, i) => {
          const element = source.subarray(index * words, (index + 1) * words)
          wantedGathered.set(element, i * words)
          wantedScattered.set(element, index * words)
        })
        same(gathered!, wantedGathered)
        same(scattered!, wantedScattered)
      },
      15,
    ),
  ),
)
