import t from 'tap'
import { FIXED_KEY_TYPES } from '../../../../protocol/types.js'
import type { GetNextRequest } from '../../../reads.js'
import { openDevice } from '../../open-device.js'
import { queries, randomKeys, same, seeded, subjectOf } from './subject.js'

const device = await openDevice(t)

t.test('getNext answers as the model does, in both directions, after keys and within them', async (t) => {
  const random = seeded(t)
  for (const keyType of FIXED_KEY_TYPES) {
    for (const unique of [true, false]) {
      const shape = { keyType, payloadBytes: random.pick([8, 3]), unique, matchFrom: 0 }
      const subject = await subjectOf(device, shape, randomKeys(shape, random, 300), random)
      const count = 500
      const keys = queries(subject, random, count)
      const begin = await subject.reader.getFirst(subject.arena, keys)
      same(
        t,
        begin,
        await subject.model.getFirst(keys),
        `${keyType} first payloads with their sequence numbers`,
      )
      const numbers = Uint32Array.from({ length: count }, () => {
        return random.chance(0.1) ? 0xffffffff : random.below(random.pick([2, 8, 400]))
      })
      for (const sequences of [undefined, begin.sequences, new Uint8Array(numbers.buffer)]) {
        for (const reverse of [false, true]) {
          const request: GetNextRequest = { keys, sequences, reverse }
          const within = sequences === undefined ? 'after keys' : 'within keys'
          same(
            t,
            await subject.reader.getNext(subject.arena, request),
            await subject.model.getNext(request),
            `${keyType} ${unique ? 'unique' : 'lists'} ${within}${reverse ? ' in reverse' : ''}`,
          )
        }
      }
      subject.arena.destroy()
    }
  }
})

t.test('nothing follows in a tree without keys', async (t) => {
  const shape = { keyType: 'i32', payloadBytes: 4, unique: true, matchFrom: 0 } as const
  const { reader, arena, model } = await subjectOf(device, shape, [], seeded(t))
  for (const keys of [new Uint8Array(0), new Uint8Array(12)]) {
    same(t, await reader.getNext(arena, { keys }), await model.getNext({ keys }))
    same(t, await reader.getFirst(arena, keys), await model.getFirst(keys))
  }
})
