import t from 'tap'
import { FIXED_KEY_TYPES, keyBytes } from '../../../../protocol/types.js'
import { ranksOf } from '../../../fixed-keys.js'
import { concat } from '../../../plain-bytes.js'
import { openDevice } from '../../open-device.js'
import { randomKeys, same, seeded, subjectOf } from './subject.js'

const device = await openDevice(t)

t.test('order lists every tuple once, by ascending key', async (t) => {
  const random = seeded(t)
  for (const keyType of FIXED_KEY_TYPES) {
    const shape = { keyType, payloadBytes: 4, unique: true, matchFrom: 0 }
    for (const size of [1, 2, 3000]) {
      const keys = randomKeys(shape, random, size).map((key) => ({
        ...key,
        entries: key.entries.map((entry) => ({ ...entry, dead: false })),
      }))
      const { reader, arena, model } = await subjectOf(device, shape, keys, random)
      const scratch = device.scratch()
      const recorder = device.record()
      const order = reader.order({ recorder, scratch, arena }, keys.length)
      recorder.submit()
      const numbers = await device.readWords(order, keys.length)
      scratch.release()
      const stride = keyBytes(keyType) / 4 + 1
      const tuples = await device.readWords(arena.tuples.buffer, arena.tuples.records * stride)
      const payloads = concat(
        [...numbers].map(
          (number) => new Uint8Array(tuples.slice((number + 1) * stride - 1, (number + 1) * stride).buffer),
        ),
      )
      const expected = await model.scan({ ranges: 1, limit: keys.length })
      same(t, payloads, expected.payloads, `${keyType}: ${keys.length} tuples`)
      t.equal(ranksOf(keyType, expected.keys).length, keys.length)
      arena.destroy()
    }
  }
})
