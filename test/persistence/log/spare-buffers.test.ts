import t from 'tap'
import { SpareBuffers } from '../../../persistence/log/spare-buffers.js'

const MIB = 1024 * 1024

t.test('large buffers are given out again, by one at a time', async (t) => {
  const buffers = new SpareBuffers(2)
  const first = buffers.take(2 * MIB - 1)
  t.equal(first.length, 2 * MIB - 1)
  t.equal(first.buffer.byteLength, 2 * MIB)
  const second = buffers.take(2 * MIB)
  t.not(second.buffer, first.buffer)
  buffers.give(first)
  const third = buffers.take(2 * MIB)
  t.equal(third.buffer, first.buffer, 'also to a longer record')
  t.equal(third.length, 2 * MIB)
  buffers.give(third)
  t.not(buffers.take(2 * MIB + 1).buffer, first.buffer, 'which must fit')
})

t.test('few are kept, and no small ones or very large ones', async (t) => {
  const buffers = new SpareBuffers(2)
  const taken = [1, 2, 3].map((mebibytes) => buffers.take(mebibytes * MIB))
  for (const buffer of taken) buffers.give(buffer)
  t.equal(buffers.take(3 * MIB).buffer, taken[2].buffer)
  t.equal(buffers.take(MIB).buffer, taken[1].buffer)
  t.not(buffers.take(MIB).buffer, taken[0].buffer, 'the first one has gone')
  for (const bytes of [0, 1, MIB - 1, 32 * MIB + 1]) {
    const one = new SpareBuffers(1)
    const kept = one.take(32 * MIB)
    const other = one.take(bytes)
    t.equal(other.length, bytes)
    one.give(kept)
    one.give(other)
    t.equal(one.take(MIB).buffer, kept.buffer, `${bytes} bytes do not displace it`)
  }
})
