import t from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { WriteLog } from '../../../persistence/log/write-log.js'
import { Snapshots } from '../../../persistence/snapshots/snapshots.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { RelationDefinition } from '../../../protocol/relation.js'
import { packBatch } from '../../../protocol/relation-values.js'
import { reads } from '../../reads.js'
import { separateDevices } from '../../separate-devices.js'
import { openEngine, u32, values } from './open-engine.js'

separateDevices()

const NUMBERS: RelationDefinition = {
  name: 'numbers',
  columns: [{ name: 'n', type: 'u32', nullable: false }],
}

t.test(
  'an index has the rows of an acknowledged append also where its relation must be rebuilt',
  async (t) => {
    const engine = await openEngine(t)
    await engine.createRelation(NUMBERS)
    await engine.createRelationIndex({ name: 'by n', relation: 'numbers', columns: ['n'] })
    const append = (n: number) => engine.relation('numbers').append(packBatch({ n: [n] }, NUMBERS))
    await append(1)
    const { append: log } = WriteLog.prototype
    let records = 0
    t.intercept(WriteLog.prototype, 'append', {
      value(this: WriteLog, ...given: Parameters<WriteLog['append']>) {
        if (++records === 3) return Promise.reject(new WarpdexError('DISK_FULL', 'on purpose'))
        return log.apply(this, given)
      },
    })
    const rowsOf = async (n: number) => values((await reads(engine.index('by n')).getAll(u32(n))).payloads)
    // Whether the first one goes alone or not, the two behind it go together. One of them is stored, so the relation is rebuilt.
    const first = append(2)
    const seen = append(3).then(() => rowsOf(3))
    await t.rejects(append(4), { code: 'DISK_FULL' })
    await first
    t.same(await seen, [2], 'read right behind the acknowledgement')
    t.same(await rowsOf(4), [])
    await append(4)
    t.same(await rowsOf(4), [3])
  },
)

t.test('what waited while the device was lost is told so', async (t) => {
  const lost = await Device.open('software')
  const next = await Device.open('software')
  t.teardown(() => next.destroy())
  const devices = [lost, next]
  const engine = await openEngine(t, { openDevice: async () => devices.shift() ?? next })
  await engine.createRelation(NUMBERS)
  await engine.relation('numbers').append(packBatch({ n: [1] }, NUMBERS))
  const { release } = await engine.relation('numbers').hold()
  const read = () => engine.relation('numbers').read({ columns: [], from: 0, limit: 10 })
  const waiting: Record<string, Promise<unknown>> = {
    'the creation of an index': engine.createRelationIndex({
      name: 'by n',
      relation: 'numbers',
      columns: ['n'],
    }),
    'a read': read(),
    'a query': engine.queries.start({ op: 'scan', relation: 'numbers' }, { cancelled: false }),
    'a query that is kept': engine.queries.keep(
      { op: 'scan', relation: 'numbers' },
      { name: 'kept', seconds: 60 },
      { cancelled: false },
    ),
  }
  const told = Object.entries(waiting).map(([what, one]) => t.rejects(one, { code: 'DEVICE_LOST' }, what))
  lost.gpu.destroy()
  await lost.lost
  release()
  await Promise.all(told)
  t.match(await read(), { total: 1 })
})

t.test('where a rebuild may not read a file, no request is blamed for it', async (t) => {
  const engine = await openEngine(t)
  await engine.createRelation(NUMBERS)
  t.intercept(Snapshots.prototype, 'newest', {
    value: () => Promise.reject(new WarpdexError('BAD_REQUEST', 'on purpose')),
  })
  const relation = engine.relation('numbers')
  await relation.remake()
  await t.rejects(relation.read({ columns: [], from: 0, limit: 10 }), {
    code: 'INTERNAL',
    message: /could not be rebuilt: on purpose; restart/,
  })
})
