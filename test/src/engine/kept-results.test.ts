import t, { type Test } from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import type { Engine } from '../../../src/engine/index.js'
import { Random, seedOfRun } from '../../random.js'
import { separateDevices } from '../../separate-devices.js'
import { appendRelation } from '../query/append-relation.js'
import { DuckOracle, difference } from '../query/duck-oracle.js'
import { type Cell, type HostRelation, rowsOf } from '../query/host-relation.js'
import { randomRelation } from '../query/relations.js'
import { HandClock } from './hand-clock.js'
import { openEngine } from './open-engine.js'

separateDevices()

const col = (column: string): Expression => ({ column })
const scan = (relation: string, as?: string): QueryNode => ({ op: 'scan', relation, as })
const below = (input: QueryNode, column: string, value: number | string): QueryNode => ({
  op: 'where',
  input,
  condition: { op: '<', args: [col(column), { value }] },
})
const counted = (input: QueryNode): QueryNode => ({
  op: 'groupBy',
  input,
  keys: [],
  aggregates: [{ name: 'n', function: 'count' }],
})
const READER = { cancelled: false }

async function ask(engine: Engine, query: QueryNode): Promise<Cell[][]> {
  let { batch, more, cursor } = await engine.queries.start(query, READER)
  const batches = [batch]
  while (more && cursor !== undefined) {
    ;({ batch, more } = await engine.queries.next(cursor, READER))
    batches.push(batch)
  }
  return rowsOf(batches)
}

function keep(engine: Engine, query: QueryNode, name = 'kept', seconds = 60) {
  return engine.queries.keep(query, { name, seconds }, READER)
}

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const random = new Random(seed)
const relations = [randomRelation(random, 'r', 600), randomRelation(random, 'q', 90)]
const { queryPassBytes } = LIMITS
t.afterEach(() => Object.assign(LIMITS, { queryPassBytes, keptResults: 256 }))

async function open(
  t: Test,
  options: Parameters<typeof openEngine>[1] = {},
  hosts: HostRelation[] = relations,
) {
  const clock = new HandClock()
  const engine = await openEngine(t, { clock, ...options })
  for (const each of hosts) await appendRelation(engine, each)
  return { engine, clock }
}

t.test('what is kept holds what the query gives', async (t) => {
  const { engine } = await open(t)
  const oracle = await DuckOracle.open(relations)
  t.teardown(() => oracle.close())
  // So that a result comes in many tables, with strings of two dictionaries, and nulls that begin in the middle.
  Object.assign(LIMITS, { queryPassBytes: 8 * 777 })
  const isSmall: Expression = { op: '<', args: [col('a.i'), col('b.i')] }
  const queries: readonly (readonly [query: QueryNode, sql: string])[] = [
    [scan('r'), 'select * from r'],
    [below(scan('r'), 'id', 7), 'select * from r where id < 7'],
    [below(scan('r'), 'id', 0), 'select * from r where false'],
    [
      {
        op: 'project',
        input: {
          op: 'where',
          input: { op: 'product', left: scan('q', 'a'), right: scan('q', 'b') },
          condition: isSmall,
        },
        columns: [
          ...['a.id', 'b.ns', 'b.nil', 'a.s'].map((name) => ({ name, value: col(name) })),
          { name: 'few', value: { op: 'contains', args: [col('b.ns')], text: 'red' } },
        ],
      },
      "select a.id, b.ns, b.nil, a.s, contains(b.ns, 'red') from q a, q b where a.i < b.i",
    ],
    [
      { op: 'join', left: scan('q', 'a'), right: scan('r', 'b'), kind: 'full', on: [['a.nu', 'b.u']] },
      'select * from q a full join r b on a.nu = b.u',
    ],
    [
      {
        op: 'union',
        all: true,
        left: { op: 'project', input: scan('q'), columns: [{ name: 's', value: col('ns') }] },
        right: { op: 'project', input: scan('r'), columns: [{ name: 's', value: col('s') }] },
      },
      'select ns from q union all select s from r',
    ],
    [
      {
        op: 'groupBy',
        input: scan('r'),
        keys: [{ name: 's', value: col('s') }],
        aggregates: [
          { name: 'total', function: 'sum', value: col('ni') },
          { name: 'paid', function: 'sum', value: col('c') },
        ],
      },
      'select s, sum(ni), sum(c) from r group by s',
    ],
  ]
  for (const [query, sql] of queries) {
    const { rows, columns } = await keep(engine, query)
    const wanted = await oracle.rows(sql)
    t.equal(rows, wanted.length)
    const types = columns.map(({ type }) => type)
    t.equal(difference(await ask(engine, scan('kept')), wanted, types), undefined, `${sql}: ${rows} rows`)
    t.match(engine.readableRelation('kept').stats(), {
      rows,
      columns,
      resident: true,
      indexes: { length: 0 },
    })
  }
  const large = { value: String(10n ** 20n), type: 'i128' } as const
  const columns = [{ name: 'x', value: large }]
  await t.rejects(keep(engine, { op: 'project', input: scan('q'), columns }), { message: /overflow/ })
  const strings = (await keep(engine, below(scan('r'), 'id', 1))).columns.length
  t.equal(strings, relations[0]!.columns.length)
  const { stringBytes } = engine.readableRelation('kept').stats()
  t.ok(stringBytes < 60, `${stringBytes} bytes of strings for a row`)
  const page = await engine.readableRelation('kept').read({ columns: ['id'], from: 0, limit: 5 })
  t.match(page, { total: 1, columns: [{ name: 'id' }] })
})

t.test('names are those of relations, and results make way for later ones', async (t) => {
  const { engine } = await open(t)
  await t.rejects(keep(engine, scan('r'), 'q'), { code: 'RELATION_EXISTS', message: /"q" already/ })
  await keep(engine, below(scan('r'), 'id', 10))
  await t.rejects(
    engine.createRelation({ name: 'kept', columns: [{ name: 'a', type: 'u32', nullable: false }] }),
    {
      code: 'RELATION_EXISTS',
      message: /result of a query is kept/,
    },
  )
  t.throws(() => engine.relation('kept'), {
    code: 'BAD_REQUEST',
    message: /takes no appends, indexes or snapshots/,
  })
  await t.rejects(engine.createRelationIndex({ name: 'i', relation: 'kept', columns: ['u'] }), {
    code: 'BAD_REQUEST',
  })
  t.same(
    (await engine.snapshot()).map(({ relation }) => relation),
    ['r', 'q'],
  )
  const { batch } = await engine.queries.start(scan('kept', 'a'), READER)
  t.equal(batch.columns[0]!.name, 'a.id')
  await keep(engine, below(scan('kept'), 'id', 4))
  t.same(await ask(engine, counted(scan('kept'))), [[4]], 'a result of itself')
  t.match(engine.relations().at(-1), { name: 'kept', kept: { seconds: 60, secondsLeft: 60 } })

  Object.assign(LIMITS, { keptResults: 2 })
  await keep(engine, scan('q'), 'second')
  await t.rejects(keep(engine, scan('q'), 'third'), { code: 'TOO_LARGE', message: /2 results are kept/ })
  await keep(engine, scan('q'), 'second')
  t.equal(await engine.dropRelation('second'), true)
  await t.rejects(engine.dropRelation('second'), {
    code: 'UNKNOWN_RELATION',
    message: /list those that there are/,
  })
  await engine.createRelation({ name: 'second', columns: [{ name: 'a', type: 'u32', nullable: false }] })
  await t.rejects(keep(engine, scan('q'), 'second'), { code: 'RELATION_EXISTS' })
  const control: QueryNode = {
    op: 'project',
    input: scan('q'),
    columns: [{ name: 'a\nb', value: col('u') }],
  }
  await t.rejects(keep(engine, control, 'x'), {
    code: 'BAD_REQUEST',
    message: /a projection can name "a\\nb" anew/,
  })
})

t.test('those who use a result go on with it when it is replaced, dropped, or expires', async (t) => {
  const { engine, clock } = await open(t)
  Object.assign(LIMITS, { queryPassBytes: 8 * 1000 })
  const product: QueryNode = { op: 'product', left: scan('kept', 'a'), right: scan('kept', 'b') }
  const begin = () => engine.queries.start(product, READER)
  const finish = async ({ batch, cursor }: Awaited<ReturnType<typeof begin>>) => {
    let { rows } = batch
    for (let more = true; more; ) {
      const next = await engine.queries.next(cursor!, READER)
      rows += next.batch.rows
      more = next.more
    }
    return rows
  }
  await keep(engine, scan('q'))
  const bytes = engine.stats().server.deviceBytes
  const before = await begin()
  await keep(engine, below(scan('q'), 'id', 70))
  const after = await begin()
  const dropped = engine.dropRelation('kept')
  await t.rejects(ask(engine, scan('kept')), { code: 'UNKNOWN_RELATION' })
  t.equal(await finish(before), 90 * 90)
  t.equal(await finish(after), 70 * 70)
  t.equal(await dropped, true)

  await keep(engine, scan('q'))
  clock.pass(59)
  t.match(engine.relations().at(-1), { kept: { secondsLeft: 1 } })
  const inUse = await begin()
  clock.pass(100)
  t.match(engine.relations().at(-1), { kept: { secondsLeft: 60 } }, 'it does not expire while it is used')
  t.equal(await finish(inUse), 90 * 90)
  clock.pass(59)
  await engine.readableRelation('kept').read({ columns: [], from: 0, limit: 1 })
  clock.pass(59)
  t.equal(engine.stats().server.deviceBytes, bytes)
  clock.pass(1)
  t.throws(() => engine.readableRelation('kept'), {
    code: 'UNKNOWN_RELATION',
    message: /"kept": it was a kept result, which expired after 60 seconds in which nobody used it/,
  })
  t.ok(engine.stats().server.deviceBytes < bytes)
})

t.test('what is cancelled, fails or comes too late leaves nothing', async (t) => {
  const { engine } = await open(t, { queryMemory: 2 ** 20 })
  const bytes = engine.stats().server.deviceBytes
  Object.assign(LIMITS, { queryPassBytes: 8 * 1000 })
  const product: QueryNode = { op: 'product', left: scan('r', 'a'), right: scan('q', 'b') }
  let asked = 0
  const reader = {
    get cancelled() {
      return ++asked > 5
    },
  }
  await t.rejects(engine.queries.keep(product, { name: 'kept', seconds: 60 }, reader), { code: 'CANCELLED' })
  await t.rejects(keep(engine, { op: 'orderBy', input: product, by: [{ column: 'a.id' }] }), {
    code: 'TOO_LARGE',
  })
  const few: QueryNode = {
    op: 'project',
    input: product,
    columns: ['a.id', 'a.ul', 'b.ul', 'b.il'].map((name) => ({ name, value: col(name) })),
  }
  await t.rejects(engine.queries.start({ op: 'distinct', input: few }, READER), { code: 'TOO_LARGE' })
  const join: QueryNode = { op: 'join', left: scan('r', 'a'), right: scan('r', 'b'), on: [['a.id', 'b.id']] }
  t.equal(
    (await keep(engine, few)).rows,
    600 * 90,
    'a result may be larger than what its query may take beside',
  )
  t.ok(engine.stats().server.deviceBytes > bytes + 2 ** 20)
  t.equal((await keep(engine, join)).rows, 600)
  const authorise = (relation: string) => {
    throw new Error(`no right to ${relation}`)
  }
  await t.rejects(
    engine.queries.keep(join, { name: 'kept', seconds: 1 }, { cancelled: false, authorise }),
    /no right to r/,
  )
  await engine.dropRelation('kept')
  t.equal(engine.stats().server.deviceBytes, bytes)

  const closing = keep(engine, product)
  const closed = engine.close()
  await t.rejects(closing, { code: /CANCELLED|SHUTTING_DOWN/ })
  await closed
  t.throws(() => engine.readableRelation('kept'), { code: 'SHUTTING_DOWN' })
})

t.test('results make way for others and come back', async (t) => {
  const deviceMemory = 2 ** 16
  const { engine } = await open(t, { deviceMemory }, [relations[1]!])
  for (let i = 0; i < 5; i++) await keep(engine, below(scan('q'), 'id', 80 + i), `k${i}`)
  t.ok(engine.stats().server.deviceBytes <= deviceMemory)
  t.ok(engine.stats().server.pagedOutRelations > 0)
  for (let i = 0; i < 5; i++) t.same(await ask(engine, counted(scan(`k${i}`))), [[80 + i]])
  const many: QueryNode = { op: 'product', left: scan('q', 'a'), right: scan('q', 'b') }
  await t.rejects(keep(engine, many), { code: 'OUT_OF_DEVICE_MEMORY', message: /65536 are allowed/ })
  t.equal(engine.relations().length, 6)
})

t.test('results go with their device, and no restart brings them back', async (t) => {
  const directory = t.testdir()
  const devices: Device[] = []
  const openDevice = async () => {
    const device = await Device.open('software')
    devices.push(device)
    return device
  }
  const { engine } = await open(t, { directory, openDevice }, [relations[1]!])
  await keep(engine, scan('q'))
  devices[0]!.gpu.destroy()
  await devices[0]!.lost
  t.throws(() => engine.readableRelation('kept'), {
    code: 'UNKNOWN_RELATION',
    message: /lost with its device/,
  })
  t.same(await ask(engine, counted(scan('q'))), [[90]])
  t.equal((await keep(engine, scan('q'))).rows, 90)
  await engine.close()
  const again = await openEngine(t, { directory })
  t.same(
    again.relations().map(({ name }) => name),
    ['q'],
  )
  t.throws(() => again.readableRelation('kept'), {
    code: 'UNKNOWN_RELATION',
    message: /list those that there are/,
  })
})
