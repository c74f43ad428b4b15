import t from 'tap'
import {
  and,
  avg,
  col,
  connect,
  constant,
  count,
  descending,
  distinct,
  first,
  median,
  or,
  type Query,
  type QueryExplanation,
  relation,
  sum,
  type Value,
  when,
} from '../../../clients/sdk/index.js'
import { LIMITS } from '../../../protocol/limits.js'
import { loadConfig, startServer } from '../../../src/server/index.js'
import { Random, seedOfRun } from '../../random.js'
import { appendRelation } from '../../src/query/append-relation.js'
import { DuckOracle, difference } from '../../src/query/duck-oracle.js'
import type { Cell } from '../../src/query/host-relation.js'
import { randomRelation } from '../../src/query/relations.js'

async function rowsOf(query: AsyncIterable<{ rows(): Iterable<Record<string, Cell>> }>): Promise<Cell[][]> {
  const rows: Cell[][] = []
  for await (const batch of query) for (const row of batch.rows()) rows.push(Object.values(row))
  return rows
}

t.test('queries of a client', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const relations = [randomRelation(random, 'r', 500), randomRelation(random, 'q', 300)]
  const oracle = await DuckOracle.open(relations)
  t.teardown(() => oracle.close())
  const server = await startServer(loadConfig({ flags: { port: 0, ioThreads: 1, directory: t.testdir() } }))
  t.teardown(() => server.close())
  for (const each of relations) await appendRelation(server.engine, each)
  const client = await connect(server.url)
  t.teardown(() => client.close())

  const joined = relation('r', 'r')
    .where(and(col('r.u').lt(15), col('r.ns').startsWith('P').or(col('r.nu').between(3, 9))))
    .join(relation('q', 'q').where(col('q.i').ne(0)), { on: [['r.i', 'q.i']], kind: 'left' })
    .groupBy(['r.s'], {
      rows: count(),
      total: sum(when([[col('q.nu').in([1, 2, 3]), col('r.u')]], 0)),
      mean: avg('q.u'),
    })
    .where(col('rows').gt(2))
    .orderBy(descending('rows'), 'r.s')
    .limit(10)

  await t.test('a query gives what it gives in SQL', async (t) => {
    const sql = `select r.s, count(*) n, sum(case when q.nu in (1, 2, 3) then r.u else 0 end), avg(q.u)
      from r left join (select * from q where i <> 0) q on r.i = q.i
      where r.u < 15 and (starts_with(r.ns, 'P') or r.nu between 3 and 9)
      group by r.s having count(*) > 2 order by n desc, r.s limit 10`
    const types = ['string', 'u32', 'u64', 'f64'] as const
    t.equal(difference(await rowsOf(client.query(joined)), await oracle.rows(sql), types, true), undefined)
    const columns = await client.query(relation('r').select(['ul', 'ns'])).columns()
    t.strictSame(columns.ul, (await oracle.rows('select ul from r')).flat())
    t.strictSame(columns.ns, (await oracle.rows('select ns from r')).flat())
    t.strictSame(await client.query(relation('r').limit(0)).rows(), [])
  })

  await t.test('conditions of joins, different values and orders by values', async (t) => {
    const query = relation('r')
      .join(relation('q'), { on: 'nu', kind: 'left', condition: col('r.id').lt(col('q.id')) })
      .groupBy(['r.s'], { ids: distinct(count('q.id')), middle: median('r.u'), one: first('r.s') })
      .orderBy(descending(col('ids').times(2)), col('r.s'))
    const sql = `select r.s, count(distinct q.id), median(r.u), first(r.s)
      from r left join q on r.nu = q.nu and r.id < q.id group by r.s order by 2 desc, 1`
    const found = await rowsOf(client.query(query))
    t.equal(difference(found, await oracle.rows(sql), ['string', 'u32', 'f64', 'string'], true), undefined)
    const marked = relation('r').join(relation('q'), { on: 'nu', kind: 'mark', as: 'known' })
    const known = marked.where(col('known')).groupBy([], { rows: count() })
    const wanted = await oracle.rows('select count(*) from r where nu in (select nu from q)')
    t.equal(Number((await rowsOf(client.query(known)))[0]![0]), Number(wanted[0]![0]))
  })

  await t.test('joins do what subqueries do', async (t) => {
    const [r, q] = [relation('r'), relation('q')]
    const same = async (query: Query, sql: string) => {
      const found = await rowsOf(client.query(query.select(['id']).orderBy('id')))
      const wanted = await oracle.rows(`select id from r where ${sql} order by id`)
      t.equal(difference(found, wanted, ['u32'], true), undefined, sql)
    }
    const some = q.where(col('u').gt(4)).select(['nu'])
    await same(r.join(some, { on: 'nu', kind: 'semi' }), 'nu in (select nu from q where u > 4)')
    const none = r.join(some, { on: 'nu', kind: 'anti' })
    await same(none, 'not exists (select 1 from q where u > 4 and q.nu = r.nu)')
    const means = q.groupBy({ key: 'nu' }, { mean: avg('u') })
    const above = r.join(means, { on: [['nu', 'key']], kind: 'semi', condition: col('u').gt(col('mean')) })
    await same(above, 'u > (select avg(u) from q where q.nu = r.nu)')
    const whole = q.groupBy([], { mean: avg('u') })
    const below = r.join(whole, { kind: 'semi', condition: col('u').lt(col('mean')) })
    await same(below, 'u < (select avg(u) from q)')
  })

  const product = relation('r', 'a')
    .select(['a.ul', 'a.il', 'a.id'])
    .product(relation('q', 'b').select(['b.ul', 'b.ns', 'b.id']))
  await t.test('a long result comes in batches, and may be left', async (t) => {
    let rows = 0
    let batches = 0
    for await (const batch of client.query(product)) {
      rows += batch.length
      batches++
    }
    t.equal(rows, 500 * 300)
    t.ok(batches > 1, `${batches} batches`)
    const { queryCursors } = LIMITS
    Object.assign(LIMITS, { queryCursors: 2 })
    for (let left = 0; left < 4; left++) {
      for await (const batch of client.query(product)) {
        t.ok(batch.length > 0, 'the first batch')
        break
      }
    }
    Object.assign(LIMITS, { queryCursors })
    await appendRelation(server.engine, { ...relations[0]!, name: 'later' })
    const left = relation('later').groupBy([], { rows: count() })
    t.strictSame(await client.query(left).rows(), [{ rows: 500 }])
  })

  await t.test('what is wrong with a query is said with its place', async (t) => {
    const rejected = (query: Query, code: string, message: RegExp) =>
      t.rejects(client.query(query).rows(), { code, message })
    await rejected(relation('nowhere'), 'UNKNOWN_RELATION', /nowhere/)
    const missing = relation('r')
      .join(relation('q', 'q'), { on: [['custkey', 'q.u']] })
      .limit(3)
    await rejected(
      missing,
      'BAD_REQUEST',
      /^query\.input\.on\[0\]\[0\]: no column "custkey"; the columns are id, u/,
    )
    await rejected(
      relation('r').where(col('s').plus(1).gt(1)),
      'BAD_REQUEST',
      /^query\.condition\.args\[0\]: string and i64/,
    )
    await rejected(relation('r').product(relation('r')), 'BAD_REQUEST', /^query: two columns are named "id"/)
  })

  await t.test('numbers past a type are above or below all of its numbers', async (t) => {
    const found = async (condition: Value) =>
      (await client.query(relation('r').where(condition)).rows()).length
    const all = await found(col('u').ge(0))
    t.ok(all > 0)
    for (const large of [1e25, 10n ** 25n, 2n ** 64n, 2n ** 2000n]) {
      const small = typeof large === 'bigint' ? -large : -large
      t.equal(
        await found(and(col('u').lt(large), col('u').ge(small), col('u').ne(large))),
        all,
        String(large),
      )
      t.equal(await found(or(col('u').gt(large), col('u').le(small), col('u').in([large, small]))), 0)
    }
    t.same(col('u').lt(2n ** 64n - 1n).expression, {
      op: '<',
      args: [{ column: 'u' }, { value: '18446744073709551615', type: 'u64' }],
    })
  })

  await t.test('a query is explained', async (t) => {
    const explanation = await client.explainQuery(joined)
    const ops: string[] = []
    const walk = (step: QueryExplanation) => {
      ops.push(step.op)
      for (const input of step.inputs) walk(input)
    }
    walk(explanation)
    t.strictSame(ops, ['limit', 'orderBy', 'where', 'groupBy', 'join', 'where', 'scan', 'where', 'scan'])
    t.match(explanation.inputs[0]?.inputs[0]?.inputs[0]?.inputs[0]?.method, /built on the (left|right) side/)
  })

  await t.test('a result is kept, queried, read, listed and dropped', async (t) => {
    const few = relation('r', 'a').where(col('a.id').lt(9)).select(['a.id', 'a.ns'])
    const kept = await client
      .query(few.select({ 'a.id': 'a.id', s: 'a.ns', odd: col('a.id').gt(4) }))
      .keep('few')
    t.match(kept, {
      name: 'few',
      rows: 9,
      seconds: 600,
      columns: [{ name: 'a.id' }, { name: 's', type: 'string' }, { type: 'boolean' }],
    })
    const { odd, 'a.id': ids } = await client.relation('few').read()
    t.same(
      odd,
      ids?.map((id) => Number(id) > 4),
    )
    t.equal((await client.relation('few').definition()).columns.length, 3)
    t.match(await client.query(few).keep('few', { seconds: 5 }), { rows: 9, seconds: 5 })
    t.equal((await client.relation('few').definition()).columns.length, 2, 'another one now')
    const joined = relation('few', 'f').join(relation('r'), { on: [['f.a.id', 'id']], kind: 'semi' })
    const wanted = await oracle.rows('select id, ns from r where id < 9')
    t.equal(difference(await rowsOf(client.query(joined)), wanted, ['u32', 'string']), undefined)
    const read = await client.relation('few').read()
    t.strictSame(
      read['a.ns'],
      wanted.map(([, text]) => text),
    )
    const listed = (await client.listRelations()).find(({ name }) => name === 'few')
    t.match(listed, { kept: { seconds: 5, secondsLeft: 5 } })
    t.match(await client.relation('few').stats(), { rows: 9, resident: true })
    const refused = { code: 'BAD_REQUEST', message: /kept result of a query, which takes no appends/ }
    await t.rejects(client.relation('few').append({ 'a.id': [1], 'a.ns': ['x'] }), refused)
    await t.rejects(client.relation('few').createIndex('i', ['a.id']), refused)
    await t.rejects(client.query(few).keep('r'), { code: 'RELATION_EXISTS' })
    for (const seconds of [0, 1.5, 100_000]) {
      await t.rejects(client.query(few).keep('few', { seconds }), {
        code: 'BAD_REQUEST',
        message: /"seconds", a whole number from 1 to 86400/,
      })
    }
    await t.rejects(client.query(few).keep('a\nb'), {
      code: 'BAD_REQUEST',
      message: /a "name" of 1 to 128 bytes/,
    })
    t.equal(await client.dropRelation('few'), true)
    await t.rejects(client.query(relation('few')).rows(), { code: 'UNKNOWN_RELATION' })
  })
})

t.test('in takes ten thousand values', async (t) => {
  const flags = { port: 0, ioThreads: 1, directory: t.testdir() }
  const server = await startServer(loadConfig({ flags }))
  t.teardown(() => server.close())
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const seed = seedOfRun()
  const random = new Random(seed)
  const wide = Array.from({ length: 2000 }, () => (BigInt(random.word()) << 32n) | BigInt(random.word()))
  const small = wide.map(() => random.below(4000) - 2000)
  const halves = small.map((value) => value / 2)
  const texts = small.map((value) => `é${value}`)
  await client.createRelation({
    name: 'r',
    columns: [
      { name: 'ul', type: 'u64', nullable: false },
      { name: 'i', type: 'i32', nullable: false },
      { name: 'f', type: 'f32', nullable: true },
      { name: 's', type: 'string', nullable: false },
    ],
  })
  const input = { ul: wide, i: small, f: halves, s: texts }
  await client.relation('r').append(input)
  const count = 10_000
  const among = [
    ...wide.slice(0, 777),
    ...Array.from({ length: count - 777 }, () => BigInt(random.word()) << 31n),
  ]
  const whole = Array.from({ length: count }, (_, i) => i * 3 - 15_000)
  const lists = {
    ul: among,
    i: whole,
    f: Array.from({ length: count }, (_, i) => i / 2 - 100),
    s: Array.from({ length: count }, (_, i) => `é${i - 100}`),
  } as const
  for (const [name, list] of Object.entries(lists)) {
    const asked = new Set<unknown>(list)
    const expected = input[name as keyof typeof input].filter((value) => asked.has(value)).length
    const rows = (condition: Value) => client.query(relation('r').where(condition)).rows()
    const found = await rows(col(name).in(list))
    t.equal(found.length, expected, name)
    t.ok(found.every((row) => asked.has(row[name])))
    t.equal((await rows(col(name).in(list).not())).length, wide.length - expected, `not in: ${name}`)
    t.equal(
      (
        await rows(
          col(name)
            .in([...list, null])
            .not(),
        )
      ).length,
      0,
      `with a null: ${name}`,
    )
  }
  const explained = await client.explainQuery(relation('r').where(col('ul').in(among)))
  t.match(explained.selection?.conditions, [/^ul = \d+ or .* more$/], 'it is planned as one set of values')
  const few = whole.slice(4500, 4700)
  const computed = relation('r').where(col('i').plus(1).in(few))
  const expected = small.filter((value) => few.includes(value + 1)).length
  t.equal((await client.query(computed).rows()).length, expected, 'of an expression')
  t.same(await client.query(relation('r').where(col('i').in([]))).rows(), [], 'of none it is never true')
  t.equal((await client.query(relation('r').where(col('f').in([]).not())).rows()).length, wide.length)
  const most = Array.from({ length: LIMITS.queryListValues + 1 }, (_, i) => i)
  await t.rejects(client.query(relation('r').where(col('i').in(most))).rows(), {
    code: 'BAD_REQUEST',
    message: /at most 16384 constants; .* semi join/,
  })
})

t.test('a batch of a result is an Arrow record batch', async (t) => {
  const server = await startServer(loadConfig({ flags: { port: 0, ioThreads: 0, directory: t.testdir() } }))
  t.teardown(() => server.close())
  const client = await connect(server.url)
  t.teardown(() => client.close())
  const types = ['u32', 'i32', 'f32', 'u64', 'i64', 'string'] as const
  const columns = types.map((type) => ({ name: type, type, nullable: true }))
  await client.createRelation({ name: 'r', columns })
  const values = { u32: 7, i32: -7, f32: 0.5, u64: 2n ** 63n, i64: -(2n ** 62n), string: 'é' }
  const full = Object.entries(values).map(([name, value]) => [name, [value, null, value]] as const)
  await client.relation('r').append(Object.fromEntries(full))
  const shown = Object.fromEntries(types.map((type) => [type, col(type)]))
  const query = relation('r').select({ ...shown, boolean: col('u32').lt(9) })
  let rows = 0
  for await (const batch of client.query(query)) {
    const arrow = await batch.toArrow()
    for (const [name, expected] of [...full, ['boolean', [true, null, true]] as const]) {
      t.same(Array.from(arrow.getChild(name) ?? []), expected, name)
    }
    rows += arrow.numRows
    t.ok(arrow.schema.fields.every(({ nullable }) => nullable))
  }
  t.equal(rows, 3)
})

t.test('what is no constant is refused where it stands', async (t) => {
  const loosely = (value: unknown) => value as number
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [new Date(0), /a Date is not a value of a query/],
    [undefined, /undefined is not a value/],
    [{}, /an Object is not a value/],
    [[1], /an Array is not a value/],
    [Symbol('x'), /a symbol is not a value/],
    [() => 1, /a function is not a value/],
  ]
  for (const [value, message] of cases) {
    const refused = { code: 'BAD_REQUEST', message }
    t.throws(() => col('a').eq(loosely(value)), refused)
    t.throws(() => col('a').in([1, loosely(value)]), refused)
    t.throws(() => constant(loosely(value)), refused)
    t.throws(() => when([[col('a').eq(1), loosely(value)]]), refused)
    t.throws(() => sum(loosely(value) as never), refused)
  }
})

t.test('in takes any list of values, and nothing that only looks like one', async (t) => {
  const { expression } = col('a').in([1, 2])
  t.same(expression, { op: 'in', args: [{ column: 'a' }, { value: 1 }, { value: 2 }] })
  for (const values of [new Set([1, 2]), Uint8Array.of(1, 2), new Uint32Array([1, 2]), [1n, 2n]]) {
    t.same(col('a').in(values).expression, expression)
  }
  const loosely = (values: unknown) => () => col('a').in(values as number[])
  for (const values of ['12', 1, null, undefined, {}]) {
    t.throws(loosely(values), { code: 'BAD_REQUEST', message: /a list of values/ })
  }
})
