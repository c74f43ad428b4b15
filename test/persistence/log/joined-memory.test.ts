import t from 'tap'
import { JoinedMemory } from '../../../persistence/log/spare-buffers.js'

const BYTES = 3 * 2 ** 20

t.test('memory is used again, and what was copied of it stays', async (t) => {
  const memory = new JoinedMemory()
  const first = memory.take(BYTES).fill(1)
  // A slice of a Buffer would be a view.
  const kept = first.slice(0, 8)
  memory.release()
  const second = memory.take(BYTES).fill(2)
  t.equal(second.buffer, first.buffer)
  t.same([...kept], Array(8).fill(1))
  memory.release()
})
