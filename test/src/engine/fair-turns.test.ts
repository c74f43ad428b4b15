import t from 'tap'
import { FairTurns } from '../../../src/engine/fair-turns.js'
import { Random, seedOfRun } from '../../random.js'

/** A task that runs until it is told to end. */
function task(turns: FairTurns, owner: unknown, weight: number, started: unknown[], name: unknown) {
  let end: () => void = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const done = turns.run(owner, weight, () => {
    started.push(name)
    return ended
  })
  return { end, done }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

t.test('a lone task starts at once', async (t) => {
  const started: string[] = []
  const { end, done } = task(new FairTurns(10), 'a', 1000, started, 'first')
  t.strictSame(started, ['first'], 'before the call returns')
  end()
  await done
})

t.test('two tasks run at a time however large they are, more only while they hold little', async (t) => {
  const started: string[] = []
  const turns = new FairTurns(10)
  const large = ['a', 'b', 'c'].map((name) => task(turns, 'one', 100, started, name))
  t.strictSame(started, ['a', 'b'])
  large[0]!.end()
  await turn()
  t.strictSame(started, ['a', 'b', 'c'])
  for (const { end } of large) end()
  await Promise.all(large.map(({ done }) => done))
  started.length = 0
  const small = Array.from({ length: 12 }, (_, i) => task(turns, 'one', 1, started, i))
  t.equal(started.length, 10)
  for (const { end } of small) end()
  await Promise.all(small.map(({ done }) => done))
  t.equal(started.length, 12)
})

t.test('who has had less comes first, and who is new is not given what others had before', async (t) => {
  const started: string[] = []
  const turns = new FairTurns(1)
  const greedy = Array.from({ length: 6 }, (_, i) => task(turns, 'greedy', 50, started, `greedy ${i}`))
  const modest = Array.from({ length: 3 }, (_, i) => task(turns, 'modest', 10, started, `modest ${i}`))
  greedy[0]!.end()
  await turn()
  t.equal(started[2], 'modest 0', 'before four that have waited longer')
  for (const { end } of [...greedy, ...modest]) end()
  await Promise.all([...greedy, ...modest].map(({ done }) => done))
  t.ok(started.indexOf('modest 2') < started.indexOf('greedy 3'))
  t.strictSame(
    started.filter((name) => name.startsWith('greedy')),
    [0, 1, 2, 3, 4, 5].map((i) => `greedy ${i}`),
    'the tasks of one owner keep their order',
  )
})

t.test('a task that fails makes room, and its error comes through', async (t) => {
  const turns = new FairTurns(1)
  const fails = () => turns.run('a', 1, () => Promise.reject(new Error('no')))
  await Promise.all(Array.from({ length: 5 }, () => t.rejects(fails(), { message: 'no' })))
  t.equal(await turns.run('a', 1, async () => 7), 7)
})

t.test('whatever comes, all is done and no more than allowed runs', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const turns = new FairTurns(20)
  let running = 0
  let weights = 0
  let most = 0
  const all = Array.from({ length: 300 }, async (_, i) => {
    const weight = 1 + random.below(15)
    if (random.below(3) === 0) await turn()
    return turns.run(random.below(5), weight, async () => {
      running++
      weights += weight
      if (running > 2) most = Math.max(most, weights)
      for (let k = random.below(4); k > 0; k--) await turn()
      running--
      weights -= weight
      return i
    })
  })
  t.strictSame(
    await Promise.all(all),
    all.map((_, i) => i),
  )
  t.ok(most <= 20, `${most}`)
})
