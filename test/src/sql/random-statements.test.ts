import t from 'tap'
import { Random, seedOfRun } from '../../random.js'
import { randomStatement } from './random-statement.js'
import { SqlBed } from './sql-bed.js'
import { tameRelation } from './tame-relation.js'

const STATEMENTS = 60

t.test('random statements give the rows that DuckDB gives', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const bed = await SqlBed.open(t, [tameRelation(random, 'r', 120), tameRelation(random, 'q', 30)])
  for (let i = 0; i < STATEMENTS; i++) await bed.same(t, randomStatement(random))
})
