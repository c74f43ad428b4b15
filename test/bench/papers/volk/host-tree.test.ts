import t from 'tap'
import { HostTree } from '../../../../bench/papers/volk/host-tree.js'
import { columnOf, longestKeys, mixedKeys } from '../../../gpu/keys/bed.js'
import { seedOfRun } from '../../../random.js'

t.test('it answers as a map does', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const all = [...mixedKeys(seed, 400), ...longestKeys()]
  const distinct = [...new Map(all.map((key) => [Buffer.from(key).toString('hex'), key])).values()]
  const { offsets, bytes } = columnOf(distinct.filter((_, i) => i % 2 === 0))
  const tree = new HostTree({ offsets, bytes })
  const answers = new Uint32Array(distinct.length)
  tree.get(columnOf(distinct), 0, distinct.length, answers)
  t.same(
    [...answers],
    distinct.map((_, i) => (i % 2 === 0 ? i / 2 + 1 : 0)),
  )
  const some = new Uint32Array(3)
  tree.get(columnOf(distinct), 2, 5, some)
  t.same([...some], [2, 0, 3])
})

t.test('every key goes down all of its levels', async (t) => {
  const tree = new HostTree(columnOf([Buffer.from('a'.repeat(128)), Buffer.from(`${'a'.repeat(127)}b`)]))
  // 256 digits and four of the end; the two keys part in the last digit of the text.
  t.equal(tree.bytes, 64 * (260 + 4))
})
