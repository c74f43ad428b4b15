import fc from 'fast-check'
import t from 'tap'
import {
  anyFraction,
  anyLength,
  anySeed,
  check,
  ONE_STRATEGY,
  type Run,
  randomWords,
  same,
  withEachStrategy,
} from './bed.js'

const UNTOUCHED = 0xdeadbeef

/** A random order of the numbers below `count`. */
function permutation(seed: number, count: number): Uint32Array {
  const random = randomWords(seed, count)
  return Uint32Array.from(random.keys()).sort((a, b) => random[a]! - random[b]! || a - b)
}

/** Gathers by a permutation and scatters by it; the second undoes the first. */
async function moveBothWays(
  run: Run,
  seed: number,
  count: number,
  words: number,
  live: number,
): Promise<void> {
  const source = randomWords(seed, count * words)
  const indices = permutation(seed, count)
  const [gathered, scattered] = await run(({ primitives, recorder, upload }) => {
    const gathered = upload(new Uint32Array(count * words).fill(UNTOUCHED))
    const scattered = upload(new Uint32Array(count * words).fill(UNTOUCHED))
    const order = upload(indices)
    const deviceCount = live === count ? undefined : { buffer: upload(Uint32Array.of(live)), index: 0 }
    primitives.gather(recorder, upload(source), order, gathered, count, words, deviceCount)
    primitives.scatter(recorder, gathered, order, scattered, count, words, deviceCount)
    return [
      [gathered, count * words],
      [scattered, count * words],
    ]
  })
  const wantedGathered = new Uint32Array(count * words).fill(UNTOUCHED)
  const wantedScattered = wantedGathered.slice()
  for (let i = 0; i < Math.min(live, count); i++) {
    const element = source.subarray(indices[i]! * words, (indices[i]! + 1) * words)
    wantedGathered.set(element, i * words)
    wantedScattered.set(element, indices[i]! * words)
  }
  same(gathered!, wantedGathered)
  same(scattered!, wantedScattered)
}

t.test('gather and scatter of elements of 1 to 16 words', (t) =>
  withEachStrategy(
    t,
    (t, run) =>
      check(
        t,
        fc.record({
          count: anyLength.map((count) => Math.min(count, 10_000)),
          seed: anySeed,
          words: fc.integer({ min: 1, max: 16 }),
          fraction: fc.option(anyFraction, { nil: 1 }),
        }),
        ({ count, seed, words, fraction }) =>
          moveBothWays(run, seed, count, words, Math.floor(count * fraction)),
        20,
      ),
    ONE_STRATEGY,
  ),
)

t.test('a million words', (t) =>
  withEachStrategy(t, (_t, run) => moveBothWays(run, 9, 2 ** 20, 1, 2 ** 20), ONE_STRATEGY),
)
