import t from 'tap'
import { chooser, permutation, THETA, ZipfianRanks, zeta } from '../../../clients/load-test/distributions.js'
import { Random } from '../../../clients/load-test/random.js'
import { seedOfRun } from '../../random.js'

const DRAWS = 200_000

/** How far counts are from what a law expects, in standard deviations of chi-square; cells of few draws are joined. */
function deviation(counts: ArrayLike<number>, shares: readonly number[], draws: number): number {
  let chiSquare = 0
  let cells = 0
  let [count, expected] = [0, 0]
  for (let i = 0; i < shares.length; i++) {
    count += counts[i]
    expected += shares[i] * draws
    if (expected < 20 && i < shares.length - 1) continue
    chiSquare += (count - expected) ** 2 / Math.max(expected, 1e-9)
    cells++
    count = expected = 0
  }
  return (chiSquare - (cells - 1)) / Math.sqrt(2 * (cells - 1))
}

function histogram(values: Uint32Array, size: number): Uint32Array {
  const counts = new Uint32Array(size)
  for (const value of values) counts[value]++
  return counts
}

t.test('uniform: every item as often', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const items = new Uint32Array(DRAWS)
  chooser('uniform', 1000, new Random(seed, 0), seed)(items, DRAWS, 5000)
  const shares = Array.from({ length: 1000 }, () => 1 / 1000)
  t.ok(Math.abs(deviation(histogram(items, 1000), shares, DRAWS)) < 6)
})

t.test('zeta is the sum that it stands for', async (t) => {
  for (const n of [1, 2, 1023, 1024, 1025, 100_000]) {
    let sum = 0
    for (let i = 1; i <= n; i++) sum += i ** -THETA
    t.ok(Math.abs(zeta(n) - sum) < 1e-9 * sum, `zeta(${n})`)
  }
})

t.test(
  'zipfian ranks follow the inversion of Gray et al. exactly, and the law of Zipf closely',
  async (t) => {
    const seed = seedOfRun()
    t.comment(`TEST_SEED=${seed}`)
    for (const n of [1, 2, 3, 10, 1000]) {
      const ranks = new ZipfianRanks(n, new Random(seed, 1))
      const values = Uint32Array.from({ length: DRAWS }, () => ranks.next())
      const counts = histogram(values, n)
      // The probability of a rank below k, from solving the generator's formula for its random number.
      const eta = (1 - (2 / n) ** (1 - THETA)) / (1 - zeta(2) / zeta(n))
      const first = 1 / zeta(n)
      const second = (1 + 0.5 ** THETA) / zeta(n)
      const below = (k: number) =>
        k <= 0 ? 0 : k === 1 ? first : k >= n ? 1 : Math.max(second, ((k / n) ** (1 - THETA) - 1 + eta) / eta)
      const shares = Array.from({ length: n }, (_, k) => below(k + 1) - below(k))
      if (n > 2) t.ok(Math.abs(deviation(counts, shares, DRAWS)) < 6, `the generator's own law, ${n}`)
      const ideal = (k: number) => (k + 1) ** -THETA / zeta(n)
      for (const k of [0, 1]) {
        if (k < n)
          t.ok(Math.abs(counts[k] / DRAWS - ideal(k)) < 6 * Math.sqrt(ideal(k) / DRAWS), `rank ${k} of ${n}`)
      }
      // Beyond the first two the inversion is an approximation: compared in runs of ranks that double.
      for (let start = 2; start < n; start *= 2) {
        const end = Math.min(n, 2 * start)
        let [count, share] = [0, 0]
        for (let k = start; k < end; k++) {
          count += counts[k]
          share += ideal(k)
        }
        t.ok(Math.abs(count / DRAWS / share - 1) < 0.25, `ranks ${start} to ${end} of ${n}`)
      }
    }
  },
)

t.test('scrambling is a permutation, and keeps the shares', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  for (const n of [1, 2, 3, 5, 1000, 1024, 70_000]) {
    const scramble = permutation(n, seed)
    const image = Uint32Array.from({ length: n }, (_, i) => scramble(i))
    t.equal(new Set(image).size, n, `all of ${n}`)
    t.ok(image.every((each) => each < n))
  }
  const scramble = permutation(1000, seed)
  const items = new Uint32Array(DRAWS)
  chooser('zipfian', 1000, new Random(seed, 2), seed)(items, DRAWS, 1000)
  const counts = histogram(items, 1000)
  const share = counts[scramble(0)] / DRAWS
  t.ok(Math.abs(share * zeta(1000) - 1) < 0.1, 'the most wanted item is where it was sent')
})

t.test('latest: the newest item is the most wanted, also of those that came since', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const latest = chooser('latest', 100, new Random(seed, 3), seed)
  for (const population of [100, 101, 5000]) {
    const items = new Uint32Array(DRAWS)
    latest(items, DRAWS, population)
    const counts = histogram(items, population)
    const share = 1 / zeta(population)
    t.ok(Math.abs(counts[population - 1] / DRAWS - share) < 6 * Math.sqrt(share / DRAWS), `of ${population}`)
    t.ok(items.every((item) => item < population))
  }
})

t.test('the same seed and stream give the same numbers, others others', async (t) => {
  const draw = (seed: number, stream: number) => {
    const random = new Random(seed, stream)
    return Array.from({ length: 8 }, () => random.word())
  }
  t.same(draw(1, 2), draw(1, 2))
  t.notSame(draw(1, 2), draw(1, 3))
  t.notSame(draw(1, 2), draw(2, 2))
})
