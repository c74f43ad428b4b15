import fc from 'fast-check'
import t from 'tap'
import { anyLength, anySeed, check, LENGTHS, type Run, randomWords, same, withEachStrategy } from './bed.js'

/** Flags of which `density` out of 256 are set, to values other than 1 too. */
function randomFlags(seed: number, count: number, density: number): Uint32Array {
  return randomWords(seed, count).map((word) => ((word >>> 8) % 256 < density ? word | 1 : 0))
}

async function compactAndCompare(
  run: Run,
  flags: Uint32Array,
  which: 'set' | 'unset' = 'set',
): Promise<void> {
  const count = flags.length
  const wanted = Array.from(flags.keys()).filter((i) => (flags[i] !== 0) === (which === 'set'))
  const [positions, counts] = await run(({ primitives, recorder, scratch, upload }) => {
    const output = upload(new Uint32Array(count + 1).fill(7))
    const counts = upload(Uint32Array.of(0))
    const total = { buffer: counts, index: 0 }
    primitives.compact(recorder, scratch, upload(flags), count, output, total, which)
    return [
      [output, count + 1],
      [counts, 1],
    ]
  })
  same(counts!, [wanted.length])
  same(positions!, [...wanted, ...new Array<number>(count + 1 - wanted.length).fill(7)])
}

t.test('positions of set flags, every length around a boundary', (t) =>
  withEachStrategy(t, async (_t, run) => {
    for (const count of LENGTHS) await compactAndCompare(run, randomFlags(count + 1, count, 128))
  }),
)

t.test('positions of set flags: none, few, most, all', (t) =>
  withEachStrategy(t, (t, run) =>
    check(
      t,
      fc.record({ count: anyLength, seed: anySeed, density: fc.constantFrom(0, 3, 128, 250, 256) }),
      ({ count, seed, density }) => compactAndCompare(run, randomFlags(seed, count, density)),
      20,
    ),
  ),
)

t.test('positions of flags that are not set', (t) =>
  withEachStrategy(t, (t, run) =>
    check(
      t,
      fc.record({ count: anyLength, seed: anySeed, density: fc.constantFrom(0, 3, 128, 250, 256) }),
      ({ count, seed, density }) => compactAndCompare(run, randomFlags(seed, count, density), 'unset'),
      15,
    ),
  ),
)

t.test('a million flags', (t) =>
  withEachStrategy(t, (_t, run) => compactAndCompare(run, randomFlags(5, 2 ** 20, 100))),
)
