import t from 'tap'
import { LIMITS } from '../../../../protocol/limits.js'
import type { Request } from '../../../../protocol/messages.js'
import { ReplySizes } from '../../../../src/server/backpressure/reply-sizes.js'

const get = (handle: number, keys: number): Request => ({
  id: 1,
  op: 'get',
  handle,
  generation: 1,
  count: keys,
  columns: { keys: { type: 'u64', bytes: new Uint8Array(8 * keys) } },
})

t.test('sizes are learned by operation and index, in proportion to the request', async (t) => {
  const sizes = new ReplySizes()
  t.equal(sizes.expect(get(1, 1000)).bytes, LIMITS.frameBytes / 2, 'nothing is known')
  t.equal(sizes.expect(get(1, 2)).bytes, 256 + 4 * LIMITS.payloadBytes, 'but the most that it may be')
  sizes.learn(sizes.expect(get(1, 10)), 256 + 160)
  t.equal(sizes.expect(get(1, 10)).bytes, 416)
  t.equal(sizes.expect(get(1, 1000)).bytes, 256 + 16_000)
  t.equal(sizes.expect(get(1, 2 ** 23)).bytes, LIMITS.frameBytes, 'no reply is larger than a frame')
  t.equal(sizes.expect(get(2, 1000)).bytes, LIMITS.frameBytes / 2)
  const query: Request = { id: 1, op: 'queryNext', cursor: 3 }
  sizes.learn(sizes.expect(query), 1000)
  t.equal(sizes.expect({ ...query, cursor: 4 }).bytes, 1000)
})

t.test('growth is believed at once, and shrinking by and by', async (t) => {
  const sizes = new ReplySizes()
  const request = get(1, 100)
  sizes.learn(sizes.expect(request), 256 + 800)
  sizes.learn(sizes.expect(request), 256 + 80_000)
  t.equal(sizes.expect(request).bytes, 256 + 80_000)
  sizes.learn(sizes.expect(request), 256)
  t.equal(sizes.expect(request).bytes, 256 + 70_000)
  for (let i = 0; i < 100; i++) sizes.learn(sizes.expect(request), 256 + 800)
  t.ok(sizes.expect(request).bytes < 256 + 810)
})

t.test('what may return much and returns little is not taken for what returns all that it may', async (t) => {
  const sizes = new ReplySizes()
  const read = (limit: number): Request => ({
    id: 1,
    op: 'readRelation',
    relation: 'r',
    columns: [],
    from: 0,
    numbering: undefined,
    spread: undefined,
    limit,
  })
  sizes.learn(sizes.expect(read(10)), 256 + 1000)
  sizes.learn(sizes.expect(read(200_000)), 256 + 1000)
  t.equal(sizes.expect(read(12)).bytes, 256 + 1200)
  t.equal(sizes.expect(read(200_000)).bytes, 256 + 1000)
})

t.test('changes are answered by a code for each key', async (t) => {
  const remove = { ...get(1, 500), op: 'delete' } as Request
  t.equal(new ReplySizes().expect(remove).bytes, 4256)
})
