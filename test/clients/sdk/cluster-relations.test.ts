import t, { type Test } from 'tap'
import { Client } from '../../../clients/sdk/client.js'
import {
  avg,
  col,
  connect,
  count,
  max,
  Query,
  type RelationRows,
  relation,
  sum,
} from '../../../clients/sdk/index.js'
import { NodeConnection } from '../../../clients/sdk/node-connection.js'
import type { ColumnType } from '../../../protocol/column-types.js'
import type { QueryNode } from '../../../protocol/query/tree.js'
import type { Spread } from '../../../protocol/spread.js'
import { Random, seedOfRun } from '../../random.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { startNodes } from '../../src/cluster/start-nodes.js'
import { batchOf } from '../../src/query/append-relation.js'
import { DuckOracle, difference } from '../../src/query/duck-oracle.js'
import { RandomTrees } from '../../src/query/fuzz/random-tree.js'
import { type Cell, type HostRelation, hostRelation } from '../../src/query/host-relation.js'
import { randomRelation } from '../../src/query/relations.js'
import { start } from '../../src/server/start.js'
import { loosely } from './loose-calls.js'

const lack = natsLacks()
if (lack !== undefined) t.comment(lack)
const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

const SETS = 2

/** Creates a relation, and appends its rows some at a time, so that replica sets get some each. */
async function store(client: Client, host: HostRelation, spread: Spread | undefined): Promise<void> {
  const { name, rows, columns } = host
  const definition = columns.map(({ name, type, nullable }) => ({ name, type, nullable }))
  const stored = await client.createRelation({ name, columns: definition, spread })
  const step = Math.ceil(rows / SETS) || 1
  for (let first = 0; first < rows; first += step) {
    const part = columns.map((column) => ({ ...column, cells: column.cells.slice(first, first + step) }))
    await stored.appendBatch(batchOf(hostRelation(name, part)))
  }
}

async function rowsOf(client: Client, query: QueryNode): Promise<Cell[][]> {
  const rows: Cell[][] = []
  for await (const batch of client.query(new Query(query)))
    for (const row of batch.rows()) rows.push(Object.values(row))
  return rows
}

async function open(t: Test) {
  const nodes = await startNodes(t, SETS, SETS)
  const cluster = await connect(nodes[0]!.url)
  // Which does not know of replica sets, so that a node forwards what it asks.
  const plain = new Client(await NodeConnection.open(nodes[1]!.url, {}))
  t.teardown(() => Promise.all([cluster.close(), plain.close()]))
  return { nodes, cluster, plain }
}

t.test('relations over several replica sets', { skip: lack ?? false }, async (t) => {
  const random = new Random(seed)
  const { nodes, cluster, plain } = await open(t)
  const hosts = [
    [randomRelation(random, 'r', 100), 'rows'],
    [randomRelation(random, 'q', random.pick([0, 1, 40])), 'rows'],
    [randomRelation(random, 'c', 50), 'copies'],
    [randomRelation(random, 'h', 60), undefined],
  ] as const
  for (const [host, spread] of hosts) await store(cluster, host, spread)
  const relations = hosts.map(([host]) => host)
  const oracle = await DuckOracle.open(relations)
  t.teardown(() => oracle.close())

  await t.test('random trees of operators give what DuckDB gives', async (t) => {
    const trees = new RandomTrees(random, relations)
    for (let i = 0; i < 6; i++) {
      const { tree, sql, columns, ordered } = trees.query(1 + random.below(3))
      const types = columns.map(({ type }) => type)
      const client = random.chance(0.2) ? plain : cluster
      const found = await rowsOf(client, tree).catch((error: unknown) => String(error))
      const fault =
        typeof found === 'string' ? found : difference(found, await oracle.rows(sql), types, ordered)
      if (fault !== undefined) t.fail(`${fault}\n${JSON.stringify(tree)}\n${sql}`)
    }
    t.pass()
  })

  await t.test('statements, with rows of their own', async (t) => {
    const mine = {
      columns: [{ name: 'i', type: 'i32', nullable: false }],
      rows: { i: [-3, 0, 4, 7] },
    } as const
    const values = '(values (-3), (0), (4), (7)) mine(i)'
    const statements = [
      'select r.s, count(*) n, sum(c.il), min(r.ns) from r join c on r.i = c.i group by r.s order by n desc, r.s limit 5',
      'select i, sum(q.c) from mine left join q using (i) group by i having count(*) < 30 order by i',
      'select (select sum(il) from r), (select count(*) from h), avg(u), count(distinct s) from r where i in (select i from q)',
      "select s from r where u > ? union select ns from c where ns like 'a%' except select s from h limit 100",
    ]
    for (const sql of statements) {
      const parameters = sql.includes('?') ? [7] : []
      const query = cluster.sql(sql, parameters, { tables: { mine } })
      const found: Cell[][] = []
      let types: readonly ColumnType[] = []
      for await (const batch of query) {
        types = batch.columns.map(({ type }) => type)
        for (const row of batch.rows()) found.push(Object.values(row))
      }
      const wanted = await oracle.rows(sql.replace('?', '7').replace('mine', values))
      t.equal(difference(found, wanted, types), undefined, sql)
    }
  })

  await t.test('sums past 64 bits, and nothing', async (t) => {
    const columns = [
      { name: 'wide', type: 'i64', nullable: true },
      { name: 'price', type: 'decimal(18,2)', nullable: false },
    ] as const
    const sums = await cluster.createRelation({ name: 'sums', columns, spread: 'rows' })
    const totals = relation('sums').groupBy([], {
      rows: count(),
      wide: sum('wide'),
      price: sum('price'),
      mean: avg('price'),
      most: max('wide'),
    })
    const none = { rows: 0, wide: null, price: null, mean: null, most: null }
    t.strictSame(await cluster.query(totals).rows(), [none])
    t.strictSame(await cluster.query(relation('sums')).rows(), [])
    const [wide, price] = [2n ** 63n - 1n, '9999999999999999.99']
    for (let i = 0; i < SETS; i++) await sums.append({ wide: [wide, null], price: [price, '0.00'] })
    const total = (BigInt(SETS) * 999999999999999999n).toString()
    const most = { rows: 2 * SETS, wide: BigInt(SETS) * wide, most: wide, mean: 5e15 }
    t.strictSame(await cluster.query(totals).rows(), [
      { ...most, price: `${total.slice(0, -2)}.${total.slice(-2)}` },
    ])
  })

  await t.test('rows are appended, read, changed and counted', async (t) => {
    const columns = [{ name: 'k', type: 'u32', nullable: false }] as const
    for (const spread of ['rows', 'copies'] as const) {
      const stored = await cluster.createRelation({ name: spread, columns, spread })
      t.match(await stored.definition(), { spread })
      const numbers = new Set<number>()
      for (const client of [cluster, plain, cluster, plain]) {
        const { first, rows } = await client.relation(spread).append({ k: [1, 2, 3] })
        for (let i = 0; i < rows; i++) numbers.add(first + i)
        const [batched] = await client.write([client.relation(spread).batch({ k: [4] })])
        numbers.add(batched.first)
      }
      t.equal(numbers.size, 16, 'each row has a number of its own')
      const sorted = (rows: RelationRows) => [...rows.k!].sort()
      const wanted = [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4]
      t.strictSame(sorted(await stored.read()), wanted)
      t.strictSame(sorted(await plain.relation(spread).read({ columns: ['k'] })), wanted)
      for (const number of numbers) t.equal((await stored.read({ from: number, limit: 1 })).k!.length, 1)
      await stored.createIndex(`by k of ${spread}`, ['k'])
      t.strictSame(await plain.query(relation(spread).where(col('k').eq(4))).rows(), Array(4).fill({ k: 4 }))
      t.match(await stored.updateRows({ where: col('k').eq(2), set: { k: 9 } }), { rows: 4 })
      t.equal(await stored.deleteRows({ where: col('k').lt(4) }), 8)
      t.strictSame(sorted(await stored.read()), [4, 4, 4, 4, 9, 9, 9, 9])
      t.match(await stored.stats(), { rows: 8, spread })
      const all = (await cluster.stats()).relations.filter(({ name }) => name === spread)
      t.match(all, [{ rows: 8, spread }])
    }
    const index = cluster.index('by k of copies')
    t.equal(await index.count(loosely(9)), 4)
    const refused = { code: 'BAD_REQUEST', message: /over a relation that is spread by rows/ }
    await t.rejects(cluster.index('by k of rows').count(loosely(9)), refused)
    const one = await connect(nodes[0]!.url, { set: 0 })
    t.teardown(() => one.close())
    await cluster.renameIndex('by k of copies', 'copies by k')
    t.strictSame(await plain.query(relation('copies').where(col('k').eq(4))).rows(), Array(4).fill({ k: 4 }))
    const last = await connect(nodes[0]!.url, { set: SETS - 1 })
    t.teardown(() => last.close())
    const indexes = (await last.listRelations()).find(({ name }) => name === 'copies')?.indexes
    t.strictSame(indexes, [{ name: 'copies by k', columns: ['k'] }], 'an index has its name on each')
    const part = { code: 'INDEX_CHANGED', message: /is spread over the replica sets by rows/ }
    await t.rejects(one.query(relation('rows')).rows(), part, 'not what one replica set has')
    await t.rejects(one.relation('rows').read(), part)
    await t.rejects(one.relation('copies').append({ k: [1] }), { code: 'INDEX_CHANGED' })
    // What others have made anew is learnt again.
    t.ok(await plain.dropRelation('rows'))
    await plain.createRelation({ name: 'rows', columns, spread: 'copies' })
    await cluster.relation('rows').append({ k: [5] })
    for (const client of [cluster, plain])
      t.strictSame(await client.query(relation('rows')).rows(), [{ k: 5 }])
  })

  await t.test('results are read in batches, and left', async (t) => {
    const columns = [{ name: 'k', type: 'u32', nullable: false }] as const
    const many = await cluster.createRelation({ name: 'many', columns, spread: 'rows' })
    const k = Uint32Array.from({ length: 1 << 19 }, (_, i) => i)
    for (let i = 0; i <= SETS; i++) await many.append({ k })
    let rows = 0
    for await (const batch of plain.query(relation('many'))) rows += batch.length
    t.equal(rows, (SETS + 1) << 19)
    for await (const batch of cluster.query(relation('many'))) {
      t.ok(batch.length < rows)
      break
    }
    const twice = relation('many', 'a').join(relation('many', 'b'), { on: [['a.k', 'b.k']] })
    const refused = {
      code: 'TOO_LARGE',
      message: /more rows of "many" in one place.*make the smaller relation of a join one of copies/,
    }
    await t.rejects(cluster.query(twice).rows(), refused)
    const few = relation('many', 'b').where(col('b.k').lt(2))
    const joined = relation('many', 'a').join(few, { on: [['a.k', 'b.k']] })
    t.equal((await cluster.query(joined).rows()).length, 2 * (SETS + 1) ** 2)
    await t.rejects(cluster.query(relation('many')).keep('kept'), {
      message: /"keep" is not done over.*as many/,
    })
    await t.rejects(cluster.explainSql('explain select k from many'), { message: /"explain" is not done/ })
    await t.rejects(cluster.query(relation('many').where(col('x').eq(1))).rows(), {
      message: /no column "x"/,
    })
    await t.rejects(cluster.query(relation('many').union(relation('none'))).rows(), {
      code: 'UNKNOWN_RELATION',
    })
  })
})

t.test('a server alone spreads no relations', async (t) => {
  const client = await connect((await start(t)).url)
  t.teardown(() => client.close())
  const columns = [{ name: 'k', type: 'u32', nullable: false }] as const
  const create = (spread: Spread) => client.createRelation({ name: 'r', columns, spread })
  await t.rejects(create('rows'), { code: 'BAD_REQUEST', message: /clusters of several replica sets/ })
  await t.rejects(create(loosely('cells')), { message: /"spread" of a relation is one of rows, copies/ })
})
