import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { type Client, col, connect, type Query, relation, sum } from '../../../clients/sdk/index.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { Random, seedOfRun } from '../../random.js'
import { start } from '../server/start.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

const { queryUnderWayMilliseconds, softwareUnderWayMilliseconds } = LIMITS
t.afterEach(() => void Object.assign(LIMITS, { queryUnderWayMilliseconds, softwareUnderWayMilliseconds }))

function putUnderWay(milliseconds: number): void {
  Object.assign(LIMITS, {
    queryUnderWayMilliseconds: milliseconds,
    softwareUnderWayMilliseconds: milliseconds,
  })
}

const column = (name: string): Expression => ({ column: name })
const scan = (name: string): QueryNode => ({ op: 'scan', relation: 'r', as: name })

t.test('queries whose dispatches are divided give the same rows', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const bed = await QueryBed.open(t, [randomRelation(new Random(seed), 'r', 1500)])
  // Far less than a dispatch over all rows is expected to take.
  putUnderWay(0.5)
  const sumOf = (name: string) => ({ name, function: 'sum', value: column(name) }) as const
  for (const algorithm of ['ninlj', 'inlj', 'smj', 'hj'] as const) {
    const join: QueryNode = {
      op: 'join',
      left: scan('a'),
      right: { op: 'limit', input: scan('b'), rows: 300, offset: 0 },
      kind: 'full',
      on: [
        ['a.ns', 'b.ns'],
        ['a.u', 'b.u'],
      ],
      algorithm,
    }
    const keys = [{ name: 'b.s', value: column('b.s') }]
    const query: QueryNode = { op: 'groupBy', input: join, keys, aggregates: [sumOf('a.id'), sumOf('b.nu')] }
    const sql = `select b.s, sum(a.id), sum(b.nu) from r a full join (select * from r order by id limit 300) b
      on a.ns = b.ns and a.u = b.u group by b.s`
    await bed.same(t, algorithm, query, sql)
  }
  const condition: Expression = {
    op: 'or',
    args: [
      { op: 'contains', args: [column('ns')], text: 'red' },
      { op: '<', args: [column('nf'), column('f')] },
    ],
  }
  const ordered: QueryNode = {
    op: 'orderBy',
    input: {
      op: 'project',
      input: { op: 'where', input: { op: 'scan', relation: 'r' }, condition },
      columns: ['nul', 'ns', 'id'].map((name) => ({ name, value: column(name) })),
    },
    by: [{ column: 'nul', descending: true }, { column: 'ns' }, { column: 'id' }],
  }
  const sql = `select nul, ns, id from r where contains(ns, 'red') or nf < f
    order by nul desc nulls last, ns nulls last, id`
  await bed.same(t, 'an order', ordered, sql, true)
})

/** Rows of a relation of which each joins half of all. */
const ROWS = 2000

function heavyQuery(): Query {
  return relation('r', 'a')
    .join(relation('r', 'b'), { kind: 'left', on: [['a.k', 'b.k']] })
    .groupBy([], { s: sum(col('b.id').times(col('a.id'))) })
}

async function fill(client: Client): Promise<void> {
  const columns = [
    { name: 'id', type: 'u32', nullable: false },
    { name: 'k', type: 'u32', nullable: false },
  ] as const
  await client.createRelation({ name: 'r', columns })
  const id = Uint32Array.from({ length: ROWS }, (_, row) => row)
  await client.relation('r').append({ id, k: id.map((row) => row % 2) })
  await client.createIndex({ name: 'entries', keyType: 'u32', payloadKind: 'u32', unique: true })
  await client.index('entries').insertMany(id, id)
}

t.test('a heavy query leaves the device to others, and is given up with its client', async (t) => {
  const server = await start(t, {}, { structures: prefixTrees })
  const { queries } = server.engine
  const open = async () => {
    const client = await connect(server.url)
    t.teardown(() => client.close())
    return client
  }
  const other = await open()
  await fill(other)
  const figures = () => server.engine.stats().server.queries
  /** Waits until a query has gone to the device many times. */
  const underWay = async (before: number) => {
    while (figures().slices < before + 10) await setTimeout(1)
  }
  const get = () => other.index('entries').getMany(Uint32Array.of(7))
  await get()
  // What slices take is learnt.
  await other.query(heavyQuery()).rows()
  putUnderWay(2)
  let whole = 0

  await t.test('another client is answered before it ends', async (t) => {
    const before = figures().slices
    let ended = false
    const rows = (await open()).query(heavyQuery()).rows()
    const heavy = rows.finally(() => {
      ended = true
    })
    await underWay(before)
    t.equal((await get()).payload(0), 7)
    t.equal(ended, false)
    t.same(await heavy, [{ s: total() }])
    whole = figures().slices - before
  })

  await t.test('no slice begins once nobody waits for it', async (t) => {
    const reader = { cancelled: false }
    const before = figures().slices
    const cancelled = queries.start(heavyQuery().tree, reader)
    await underWay(before)
    reader.cancelled = true
    const last = figures().slices
    await t.rejects(cancelled, { code: 'CANCELLED' })
    await get()
    t.equal(figures().slices, last)
  })

  const leave = async (client: Client, before: number) => {
    await underWay(before)
    await client.close({ now: true })
  }
  for (const [name, options, end, code] of [
    ['its client leaves', {}, leave, 'CANCELLED'],
    ['its deadline passes', { deadline: 100 }, async () => {}, 'DEADLINE_EXCEEDED'],
  ] as const) {
    await t.test(`it ends when ${name}`, async (t) => {
      const before = figures().slices
      const client = await open()
      const failed = t.rejects(client.query(heavyQuery(), options).rows(), { code })
      await end(client, before)
      await failed
      while (figures().running > 0) await setTimeout(1)
      const last = figures().slices
      t.ok(last - before < whole, `${last - before} of ${whole} slices`)
      await get()
      t.equal(figures().slices, last)
    })
  }
})

/** The sum over all pairs of rows of one parity. */
function total(): bigint {
  // Odd numbers below ROWS add up to the square of how many they are, and each even one is one less than an odd one.
  const half = BigInt(ROWS / 2)
  let sum = 0n
  for (let id = 0; id < ROWS; id++) sum += BigInt(id) * (id % 2 === 0 ? half * (half - 1n) : half * half)
  return sum
}
