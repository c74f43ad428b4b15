import t from 'tap'
import { keepYoungGenerationSmall, youngBytes } from '../../../clients/cli/young-generation.js'

t.test('the young generation grows no further, whatever outlives its collections', (t) => {
  keepYoungGenerationSmall()
  const before = youngBytes()
  t.ok(before >= 4 * 2 ** 20, `${before} bytes`)
  const alive: unknown[] = []
  for (let i = 0; i < 2_000_000; i++) alive[i % 100_000] = { number: i, list: [i] }
  t.equal(youngBytes(), before)
  t.end()
})
