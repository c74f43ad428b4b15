import t from 'tap'
import { everyOther, seedOfRun } from '../../random.js'
import { SqlBed } from '../../src/sql/sql-bed.js'
import { generateTables } from './generate.js'
import { SQL_QUESTIONS } from './questions.js'

t.test('the questions of TPC-H in SQL', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const bed = await SqlBed.open(t, await generateTables(0.01, seed))
  for (const [i, text] of everyOther([...SQL_QUESTIONS.entries()], seed)) {
    const { difference, rows } = await bed.compare(text, true)
    t.equal(difference, undefined, `Q${i + 1}: ${rows} rows`)
  }
})
