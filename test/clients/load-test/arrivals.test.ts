import t from 'tap'
import { Schedule } from '../../../clients/load-test/arrivals.js'
import { Random } from '../../../clients/load-test/random.js'
import { seedOfRun } from '../../random.js'

function times(schedule: Schedule, count: number): number[] {
  return Array.from({ length: count }, () => schedule.take())
}

t.test('constant arrivals of several processes together are evenly spread', async (t) => {
  const all = [0, 1, 2].flatMap((process) =>
    times(new Schedule(1000, 'constant', process, 3, new Random(1, process)), 1000),
  )
  all.sort((a, b) => a - b)
  const late = all.findIndex((time, i) => !(Math.abs(time - i) <= 1e-6))
  t.equal(late, -1, `arrival ${late} at ${all[late]}`)
  t.equal(all.length, 3000)
})

t.test('a schedule says when the next one is due, without taking it', async (t) => {
  const schedule = new Schedule(10, 'constant', 0, 1, new Random(1, 0))
  t.equal(schedule.next, 0)
  t.equal(schedule.take(), 0)
  t.equal(schedule.next, 100)
  t.equal(schedule.next, 100)
})

t.test('random arrivals come at the rate, and their gaps are exponential', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const arrivals = times(new Schedule(500, 'poisson', 1, 2, new Random(seed, 0)), 20_000)
  const gaps = arrivals.map((time, i) => time - (arrivals[i - 1] ?? 0))
  // One of two processes at 500 a second: 4 milliseconds on average.
  const mean = arrivals.at(-1)! / arrivals.length
  t.ok(Math.abs(mean / 4 - 1) < 0.05, `mean ${mean}`)
  for (const factor of [0.5, 1, 2, 3]) {
    const share = gaps.filter((gap) => gap > factor * 4).length / gaps.length
    t.ok(Math.abs(share - Math.exp(-factor)) < 0.02, `gaps over ${factor} times the mean: ${share}`)
  }
})
