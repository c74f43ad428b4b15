import t from 'tap'
import { HeldRows } from '../../../persistence/payloads/held-rows.js'

t.test('rows of segments with gaps between them, with numbers of more than 32 bits', async (t) => {
  const far = 2 ** 40 + 3
  const segments = [
    { firstRow: 5, count: 3, payloadBytes: 0 },
    { firstRow: 8, count: 1, payloadBytes: 0 },
    { firstRow: 2 ** 31, count: 20, payloadBytes: 0 },
    { firstRow: far, count: 9, payloadBytes: 0 },
  ]
  const held = new HeldRows(segments)
  t.equal(held.size, 33)
  const marked = [5, 8, 2 ** 31 + 5, 2 ** 31 + 19, far, far + 8]
  for (const row of [...marked, 4, 9, 2 ** 31 + 20, far + 9]) held.mark(row)
  segments.push({ firstRow: far + 9, count: 1, payloadBytes: 0 })
  const around = segments.flatMap(({ firstRow, count }) =>
    Array.from({ length: count + 2 }, (_, i) => firstRow - 1 + i),
  )
  const unmarked = [...new Set(around.filter((row) => held.isUnmarked(row)))].sort((a, b) => a - b)
  const expected = [6, 7]
  for (let i = 0; i < 20; i++) if (i !== 5 && i !== 19) expected.push(2 ** 31 + i)
  for (let i = 1; i < 8; i++) expected.push(far + i)
  t.same(unmarked, expected)
  t.equal(new HeldRows([]).isUnmarked(0), false)
})
