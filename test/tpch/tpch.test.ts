import t from 'tap'
import { seedOfRun } from '../random.js'
import { QueryBed } from '../src/query/query-bed.js'
import { generateTpch } from './generator.js'
import { QUESTIONS } from './questions.js'

t.test('questions of TPC-H', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const bed = await QueryBed.open(t, generateTpch(0.001, seed))
  for (const { name, query, sql, ordered } of QUESTIONS) await bed.same(t, name, query.tree, sql, ordered)
})
