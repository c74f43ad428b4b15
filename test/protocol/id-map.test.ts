import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { IdMap } from '../../protocol/id-map.js'
import { seedOfRun } from '../random.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

/** Ids one after the other, some apart from each other, and some that have more than 32 bits. */
const someId = fc.oneof(
  fc.nat(200),
  fc.nat(8).map((i) => 64 * i + 5),
  fc.nat(8).map((i) => 2 ** 32 * i + 3),
  fc.constant(Number.MAX_SAFE_INTEGER),
)

type Step = readonly ['set', number, string] | readonly ['delete', number] | readonly ['clear']

const someStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('set' as const), someId, fc.string({ maxLength: 3 })) },
  { weight: 5, arbitrary: fc.tuple(fc.constant('delete' as const), someId) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('clear' as const)) },
)

t.test('it is a map, whatever comes and goes', async (t) => {
  fc.assert(
    fc.property(fc.array(someStep, { maxLength: 400 }), fc.array(someId), (steps, asked) => {
      const map = new IdMap<string>()
      const wanted = new Map<number, string>()
      for (const step of steps) {
        if (step[0] === 'set') {
          map.set(step[1], step[2])
          wanted.set(step[1], step[2])
        } else if (step[0] === 'delete') {
          assert.equal(map.delete(step[1]), wanted.get(step[1]))
          wanted.delete(step[1])
        } else {
          map.takeAll()
          wanted.clear()
        }
        assert.equal(map.size, wanted.size)
      }
      for (const id of [...asked, ...wanted.keys()]) {
        assert.equal(map.get(id), wanted.get(id))
        assert.equal(map.has(id), wanted.has(id))
      }
      assert.deepEqual(map.values().sort(), [...wanted.values()].sort())
      const short = [...wanted].filter(([id]) => id < 2 ** 32 - 1)
      const inOrder = short.sort(([one], [other]) => one - other).map(([, value]) => value)
      assert.deepEqual(map.values().slice(0, short.length), inOrder)
      assert.deepEqual(map.takeAll().length, wanted.size)
      assert.equal(map.size, 0)
    }),
    { seed, numRuns: 300 },
  )
  t.pass('as a map')
})

t.test('ids one after the other, as requests have them, of which few are under way', (t) => {
  const map = new IdMap<number>()
  for (let id = 0; id < 20_000; id++) {
    map.set(id, -id)
    if (id >= 100 && map.delete(id - 100) !== 100 - id) t.fail(`${id - 100} was not there`)
  }
  t.equal(map.size, 100)
  t.same(
    map.values(),
    [...Array(100).keys()].map((i) => -(19_900 + i)),
  )
  t.end()
})
