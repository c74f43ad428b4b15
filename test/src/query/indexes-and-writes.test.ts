import t, { type Test } from 'tap'
import { toWarpdexError } from '../../../protocol/errors.js'
import type { QueryNode } from '../../../protocol/query/tree.js'
import { packBatch } from '../../../protocol/relation-values.js'
import type { Engine } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { openSharedDevice } from '../../gpu/open-device.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { openEngine, u32 } from '../engine/open-engine.js'

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)
const device = await openSharedDevice(t)

const READER = { cancelled: false }
const KEYS = 50
const COLUMNS = [{ name: 'k', type: 'u32', nullable: false }] as const

/** A relation of keys of which `ORDERS` is joined with the few of `ASKED`, by the index over it where that is at hand. */
const JOIN: QueryNode = {
  op: 'join',
  left: { op: 'scan', relation: 'asked', as: 'a' },
  right: { op: 'scan', relation: 'orders', as: 'o' },
  on: [['a.k', 'o.k']],
  algorithm: 'inlj',
}
const ASKED = [3, 7, 7, KEYS + 1]

/** An engine with both relations, and what `orders` must hold. */
class Bed {
  readonly engine: Engine
  readonly keys: number[] = []

  constructor(engine: Engine) {
    this.engine = engine
  }

  static async open(t: Test, deviceMemory?: number): Promise<Bed> {
    const options = { structures: prefixTrees, openDevice: async () => device }
    const engine = await openEngine(t, deviceMemory === undefined ? options : { ...options, deviceMemory })
    for (const name of ['asked', 'orders', 'others', 'rest'])
      await engine.createRelation({ name, columns: COLUMNS })
    const bed = new Bed(engine)
    await bed.#append('asked', ASKED)
    await bed.append(3000)
    await bed.createIndex()
    return bed
  }

  async createIndex(): Promise<void> {
    await this.engine.createRelationIndex({ name: 'by k', relation: 'orders', columns: ['k'] })
  }

  async append(count: number): Promise<void> {
    const keys = Array.from({ length: count }, () => random.below(KEYS))
    this.keys.push(...keys)
    await this.#append('orders', keys)
  }

  async #append(name: string, keys: readonly number[]): Promise<void> {
    await this.engine.relation(name).append(packBatch({ k: [...keys] }, { name, columns: COLUMNS }))
  }

  /** Joins, and says whether the index was used. */
  async join(t: Test, what: string): Promise<boolean> {
    const wanted = ASKED.reduce((sum, key) => sum + this.keys.filter((one) => one === key).length, 0)
    const { rows, method = '' } = await this.engine.queries.explain(JOIN, READER)
    t.equal(rows, wanted, `${what}: ${rows} pairs, ${method}`)
    return method === 'inlj on the index by k of the right side'
  }
}

t.test('an index that cannot be used at once is not waited for', async (t) => {
  const bed = await Bed.open(t)
  t.ok(await bed.join(t, 'at hand'))
  const held = await bed.engine.index('by k').holdAlone()
  const got = reads(bed.engine.index('by k')).get(u32(3))
  t.notOk(await bed.join(t, 'while it is written to'))
  held.release()
  await got
  t.ok(await bed.join(t, 'at hand again'))
  await bed.append(100)
  t.ok(await bed.join(t, 'after an append'))
  await bed.engine.dropIndex('by k')
  t.notOk(await bed.join(t, 'dropped'))
})

t.test('what is on the host is left there', async (t) => {
  const bed = await Bed.open(t, 96_000)
  const { engine } = bed
  const isResident = () => engine.index('by k').stats().resident
  for (let i = 0; i < 8 && isResident(); i++) {
    await engine.useRelations(['orders', 'others', 'rest', 'asked'], async () => {})
  }
  t.notOk(isResident(), 'it has made way')
  t.notOk(await bed.join(t, 'paged out'))
  await reads(engine.index('by k')).get(u32(3))
  t.ok(isResident(), 'it is back for a get')
  t.ok(await bed.join(t, 'paged in'))
})

t.test('appends, queries, reads and drops at once', async (t) => {
  const bed = await Bed.open(t, 96_000)
  const { engine } = bed
  const work: Promise<unknown>[] = []
  let remade: Promise<unknown> = Promise.resolve()
  const read = async () => {
    try {
      await reads(engine.index('by k')).get(u32(random.below(KEYS)))
    } catch (error) {
      if (toWarpdexError(error).code !== 'UNKNOWN_INDEX') throw error
    }
  }
  for (let i = 0; i < 40; i++) {
    const kind = random.below(10)
    if (kind < 3) work.push(bed.append(random.below(60)))
    else if (kind < 7) work.push(bed.join(t, `query ${i}`))
    else if (kind < 8) work.push(read())
    else if (kind < 9) work.push(engine.useRelations(['others', 'orders', 'rest'], () => device.workDone()))
    else remade = remade.then(() => engine.dropIndex('by k')).then(() => bed.createIndex())
  }
  await Promise.all([...work, remade])
  await reads(engine.index('by k')).get(u32(3))
  await bed.join(t, 'in the end')
})
