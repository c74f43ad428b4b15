import t from 'tap'
import { FreeRanges } from '../../../persistence/payloads/free-ranges.js'
import { seedOfRun } from '../../random.js'
import { randomNumbers } from '../store-helpers.js'

t.test('takes and gives as a plain map of bytes does', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = randomNumbers(seed)
  const ranges = new FreeRanges(10, 210)
  const used = new Uint8Array(220)
  const taken: [number, number][] = []
  for (let i = 0; i < 3000; i++) {
    if (random(2) === 0) {
      const bytes = 1 + random(30)
      const start = ranges.take(bytes)
      let longest = 0
      for (let at = 10, run = 0; at < 210; at++) {
        run = used[at] === 0 ? run + 1 : 0
        longest = Math.max(longest, run)
      }
      if ((start !== undefined) !== longest >= bytes) t.fail(`${bytes} bytes of ${longest} in a row`)
      if (start === undefined) continue
      if (start < 10 || start + bytes > 210 || used.subarray(start, start + bytes).some((byte) => byte !== 0))
        t.fail(`${bytes} bytes at ${start} are not free`)
      used.fill(1, start, start + bytes)
      taken.push([start, bytes])
    } else if (taken.length > 0) {
      const [[start, bytes] = [0, 0]] = taken.splice(random(taken.length), 1)
      ranges.give(start, bytes)
      used.fill(0, start, start + bytes)
    }
  }
  t.pass('3,000 steps')
})
