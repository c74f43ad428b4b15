import t from 'tap'
import { scattered } from '../../../../bench/keys.js'
import { RandomWords } from '../../../../gpu/relational/selection/random-words.js'
import { openDevice } from '../../open-device.js'

t.test('words are those of the hash, whatever their number', async (t) => {
  const device = await openDevice(t)
  const random = new RandomWords(device)
  for (const [count, first, mask] of [
    [1, 0, 0xffffffff],
    [1000, 7, 0xffffffff],
    [70_001, 2 ** 32 - 5, 4095],
  ] as const) {
    const scratch = device.scratch()
    const buffer = scratch.words(count)
    const recorder = device.record()
    random.record(recorder, buffer, count, first, mask)
    recorder.submit()
    const found = await device.readWords(buffer, count)
    scratch.release()
    t.same(
      found,
      Uint32Array.from({ length: count }, (_, i) => scattered((first + i) >>> 0) & mask),
    )
  }
})
