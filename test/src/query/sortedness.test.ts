import t from 'tap'
import type { Expression, QueryNode, SortColumn } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'

const ROWS = 3000

const col = (column: string): Expression => ({ column })
const scan = (relation: string): QueryNode => ({ op: 'scan', relation })
const pick = (input: QueryNode, ...names: string[]): QueryNode => ({
  op: 'project',
  input,
  columns: names.map((name) => ({ name, value: col(name) })),
})
const orderBy = (input: QueryNode, ...by: (string | SortColumn)[]): QueryNode => ({
  op: 'orderBy',
  input,
  by: by.map((key) => (typeof key === 'string' ? { column: key } : key)),
})
const distinct = (input: QueryNode): QueryNode => ({ op: 'distinct', input })
const below = (input: QueryNode, column: string, value: number): QueryNode => ({
  op: 'where',
  input,
  condition: { op: '<', args: [col(column), { value }] },
})

const opened = (async () => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const relation = (name: string, first: number) => {
    const column = <T>(make: (row: number) => T) => Array.from({ length: ROWS }, (_, row) => make(row))
    return hostRelation(name, [
      { name: 'id', type: 'u64', nullable: true, cells: column((row) => BigInt(first + 2 * row)) },
      { name: 'step', type: 'i32', nullable: false, cells: column((row) => Math.floor(row / 7) - 200) },
      { name: 'word', type: 'string', nullable: false, cells: column((row) => `w${1000 + (row >> 5)}`) },
      { name: 'nul', type: 'u32', nullable: true, cells: column((row) => (row % 50 === 3 ? null : row)) },
      { name: 'v', type: 'u32', nullable: false, cells: column(() => random.below(40)) },
      {
        name: 'nv',
        type: 'u32',
        nullable: true,
        cells: column(() => (random.chance(0.2) ? null : random.below(5))),
      },
    ])
  }
  return QueryBed.open(t, [relation('o', 0), relation('p', ROWS)], undefined, true)
})()

const SORTED = 'in order already'
const SORTS = 'radix sort'
const SLOTS = 'a slot for each group'

t.test('rows that are in order are not sorted', async (t) => {
  const bed = await opened
  const o = scan('o')
  const byV = orderBy(o, 'v', { column: 'nv', descending: true, nulls: 'first' }, 'id')
  const cases: readonly (readonly [string, QueryNode, string, method: string])[] = [
    ['a column of a relation', orderBy(o, 'id'), 'select * from o order by id', SORTED],
    ['a unique one, and others', orderBy(o, 'id', 'v'), 'select * from o order by id, v', SORTED],
    ['one with ties', orderBy(o, 'step'), 'select * from o order by step, id', SORTED],
    ['one with ties, and others', orderBy(o, 'step', 'v'), 'select * from o order by step, v, id', SORTS],
    ['strings', orderBy(o, 'word'), 'select * from o order by word, id', SORTED],
    [
      'the other way',
      orderBy(o, { column: 'id', descending: true }),
      'select * from o order by id desc',
      SORTS,
    ],
    ['one with nulls', orderBy(o, 'nul'), 'select * from o order by nul nulls last, id', SORTS],
    [
      'some of its rows',
      orderBy(below(o, 'v', 20), 'id'),
      'select * from o where v < 20 order by id',
      SORTED,
    ],
    [
      'behind a limit',
      orderBy({ op: 'limit', input: o, rows: 99, offset: 5 }, 'id'),
      'select * from o where id >= 10 and id < 208 order by id',
      SORTED,
    ],
    [
      'ordered before',
      orderBy(byV, 'v', { column: 'nv', descending: true, nulls: 'first' }),
      'select * from o order by v, nv desc nulls first, id',
      SORTED,
    ],
    [
      'ordered otherwise before',
      orderBy(byV, 'v', { column: 'nv', descending: true }),
      'select * from o order by v, nv desc nulls last, id',
      SORTS,
    ],
    [
      'chosen columns of what was ordered before',
      orderBy(pick(below(byV, 'step', 0), 'nv', 'v'), 'v'),
      'select nv, v from o where step < 0 order by v, nv desc nulls first',
      SORTED,
    ],
    [
      'groups',
      orderBy({ op: 'groupBy', input: o, keys: [{ name: 'v', value: col('v') }], aggregates: [] }, 'v'),
      'select distinct v from o order by v',
      SORTED,
    ],
  ]
  for (const [name, query, sql, method] of cases) {
    await bed.same(t, name, query, sql, true)
    t.equal((await bed.explain(query)).method, method, name)
  }
})

t.test('distinct rows of rows in order', async (t) => {
  const bed = await opened
  const o = scan('o')
  const neighbours = 'neighbours of rows in order'
  const byV = orderBy(o, { column: 'nv', nulls: 'first' }, { column: 'v', descending: true })
  const cases: readonly (readonly [string, QueryNode, string, method: string])[] = [
    ['of a unique column', pick(o, 'v', 'id'), 'select v, id from o', neighbours],
    ['of one with ties', pick(o, 'step'), 'select step from o', neighbours],
    ['of strings', pick(below(o, 'v', 3), 'word'), 'select word from o where v < 3', neighbours],
    ['of many in no order', pick(o, 'nul', 'v'), 'select nul, v from o', SORTS],
    ['of few in no order', pick(o, 'v', 'nv'), 'select v, nv from o', SLOTS],
    ['of ordered rows', pick(byV, 'v', 'nv'), 'select v, nv from o', neighbours],
    ['of a part of their order', pick(byV, 'nv'), 'select nv from o', neighbours],
    ['of another part', pick(byV, 'v'), 'select v from o', SLOTS],
    ['of distinct rows', distinct(pick(o, 'v', 'nv')), 'select v, nv from o', neighbours],
  ]
  for (const [name, input, sql, method] of cases) {
    await bed.same(t, name, distinct(input), sql.replace('select', 'select distinct'))
    t.equal((await bed.explain(distinct(input))).method, method, name)
  }
})

t.test('groups of rows in order', async (t) => {
  const bed = await opened
  const aggregates = [
    { name: 'n', function: 'count' },
    { name: 'sum', function: 'sum', value: col('v') },
    { name: 'least', function: 'min', value: col('nv') },
  ] as const
  const byV = orderBy(scan('o'), { column: 'nv', nulls: 'first' }, { column: 'v', descending: true })
  const inputs = { o: scan('o'), byV, some: below(scan('o'), 'v', 7) }
  for (const keys of [['step'], ['id'], ['word'], ['nv'], ['v', 'nv'], ['v'], ['id', 'v']]) {
    for (const [name, input] of Object.entries(inputs)) {
      const query: QueryNode = {
        op: 'groupBy',
        input,
        keys: keys.map((key) => ({ name: key, value: col(key) })),
        aggregates,
      }
      const where = name === 'some' ? 'where v < 7' : ''
      const sql = `select ${keys}, count(*), sum(v), min(nv) from o ${where} group by ${keys}`
      await bed.same(t, `${keys} of ${name}`, query, sql)
    }
  }
})

t.test('set operators over rows in order, and in none', async (t) => {
  const bed = await opened
  const inputs = ({ o, half }: { readonly o: string; readonly half: string }) =>
    ({
      unique: [pick(scan(o), 'id', 'v'), `select id, v from ${o}`],
      ties: [pick(scan(o), 'step'), `select step from ${o}`],
      strings: [pick(below(scan(o), 'v', 9), 'word'), `select word from ${o} where v < 9`],
      nulls: [pick(scan(o), 'nv', 'v'), `select nv, v from ${o}`],
      ordered: [
        pick(orderBy(below(scan(o), 'v', 30), 'nv', 'v'), 'nv', 'v'),
        `select nv, v from ${o} where v < 30`,
      ],
      distinct: [
        distinct(pick(below(scan(o), 'step', Number(half)), 'nv', 'v')),
        `select distinct nv, v from ${o} where step < ${half}`,
      ],
    }) as const
  const ofLeft = inputs({ o: 'o', half: '0' })
  const ofRight = inputs({ o: 'p', half: '30' })
  const pairs = [
    ['unique', 'unique'],
    ['ties', 'ties'],
    ['strings', 'strings'],
    ['nulls', 'nulls'],
    ['nulls', 'ordered'],
    ['ordered', 'distinct'],
    ['distinct', 'distinct'],
  ] as const
  for (const [l, r] of pairs) {
    const [left, leftSql] = ofLeft[l]
    const [right, rightSql] = ofRight[r]
    for (const op of ['union', 'intersect', 'except'] as const) {
      for (const all of [false, true]) {
        const sql = `(${leftSql}) ${op} ${all ? 'all' : ''} (${rightSql})`
        const query: QueryNode = { op, left, right, all }
        await bed.same(t, `${l} ${op} ${all ? 'all ' : ''}${r}`, query, sql)
        const { rows, tables } = await bed.explain(query)
        t.same({ rows, tables }, { rows: (await bed.rows(query)).length, tables: 1 })
      }
    }
  }
})

t.test('sides in order are not hashed', async (t) => {
  const bed = await opened
  const [left, right] = ['o', 'p'].map((relation) => pick(scan(relation), 'id', 'v'))
  for (const op of ['intersect', 'except', 'union'] as const) {
    const query: QueryNode = { op, left: left!, right: right!, all: false }
    t.match((await bed.explain(query)).method, /^(smj|inlj)/, op)
  }
})
