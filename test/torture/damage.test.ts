import t from 'tap'
import { Random, seedOfRun } from '../random.js'
import { openEngine } from '../src/engine/open-engine.js'
import { Damaging } from './damage.js'

const TRIALS = 60

t.test('flipped bits and cut files: the right answer or a refusal', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const damaging = await Damaging.prepare(
    t.testdir(),
    (options) => openEngine(t, { ...options, onWarning: () => {} }),
    new Random(seed),
  )
  const outcomes = new Map<string, number>()
  for (let i = 0; i < TRIALS; i++) {
    const { outcome } = await damaging.trial()
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  t.comment([...outcomes].map(([outcome, times]) => `${outcome}: ${times}`).join(', '))
  t.equal(outcomes.size > 1, true)
})
