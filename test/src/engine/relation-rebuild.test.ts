import t from 'tap'
import { LmdbLog } from '../../../persistence/lmdb-log.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { RelationDefinition } from '../../../protocol/relation.js'
import { packBatch } from '../../../protocol/relation-values.js'
import { openEngine, u32, values } from './open-engine.js'

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
    const { append: log } = LmdbLog.prototype
    let records = 0
    t.intercept(LmdbLog.prototype, 'append', {
      value(this: LmdbLog, ...given: Parameters<LmdbLog['append']>) {
        if (++records === 3) return Promise.reject(new WarpdexError('DISK_FULL', 'on purpose'))
        return log.apply(this, given)
      },
    })
    const rowsOf = async (n: number) => values((await engine.index('by n').getAll(u32(n))).payloads)
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
