import t from 'tap'
import { ReplyMemory } from '../../../src/server/reply-memory.js'

t.test('memory of a reply that has left is used again, never before', (t) => {
  const memory = new ReplyMemory(2 ** 20)
  const first = memory.lend()
  const a = first.allocate(100_000)
  t.equal(a.byteLength, 100_000)
  const second = memory.lend()
  const b = second.allocate(100_000)
  t.not(a.buffer, b.buffer)
  first.release()
  const again = memory.lend().allocate(80_000)
  t.equal(again.buffer, a.buffer)
  t.equal(again.byteLength, 80_000)
  first.release()
  t.not(memory.lend().allocate(100_000).buffer, a.buffer, 'to release twice does no harm')
  t.end()
})

t.test('what is small belongs to its reply, and is not shared between threads', (t) => {
  const memory = new ReplyMemory(2 ** 20)
  const lent = memory.lend()
  const small = lent.allocate(1000)
  t.ok(small.buffer instanceof ArrayBuffer)
  lent.release()
  t.equal(memory.keptBytes, 0)
  t.ok(memory.lend().allocate(65_536).buffer instanceof SharedArrayBuffer)
  t.end()
})

t.test('no more is kept than was said', (t) => {
  const memory = new ReplyMemory(2 ** 20)
  const all = Array.from({ length: 10 }, () => memory.lend())
  for (const lent of all) lent.allocate(2 ** 18)
  for (const lent of all) lent.release()
  t.equal(memory.keptBytes, 2 ** 20)
  t.end()
})
