import t from 'tap'
import { type Expression, JOIN_KINDS, type QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'
import { randomColumn } from './relations.js'
import { SQL_JOINS } from './sql-joins.js'

const col = (column: string): Expression => ({ column })
const scan = (relation: string, as?: string): QueryNode => ({ op: 'scan', relation, as })

/** Values that columns of several types have, the last ones only some. */
const WHOLE = [0, 1, 2, 3, 7, 2 ** 31, 2 ** 32 - 1]

const opened = (async () => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const cells = <T>(values: readonly T[], nulls = 0.1) =>
    Array.from({ length: 80 }, () => (random.chance(nulls) ? null : random.pick(values)))
  const past = [2n ** 63n, 2n ** 64n - 1n, 2n ** 63n - 1n]
  const relationOf = (name: string) =>
    hostRelation(name, [
      { name: 'id', type: 'u32', nullable: false, cells: Array.from({ length: 80 }, (_, i) => i) },
      { name: 'u', type: 'u32', nullable: true, cells: cells(WHOLE) },
      { name: 'i', type: 'i32', nullable: true, cells: cells([-1, -7, 0, 1, 2, 3, 7]) },
      { name: 'ul', type: 'u64', nullable: true, cells: cells([...WHOLE.map(BigInt), ...past]) },
      {
        name: 'il',
        type: 'i64',
        nullable: true,
        cells: cells([...WHOLE.map(BigInt), -1n, 2n ** 63n - 1n, -(2n ** 63n)]),
      },
      { name: 'c', type: 'decimal(12,2)', nullable: true, cells: cells(['1.00', '2.50', '3.00', '-1.00']) },
      {
        name: 'e',
        type: 'decimal(9,4)',
        nullable: true,
        cells: cells(['1.0000', '2.5000', '2.5001', '3.0000']),
      },
      { name: 'd', type: 'date', nullable: true, cells: cells(['1999-01-01', '2001-02-03']) },
      {
        name: 't',
        type: 'timestamp',
        nullable: true,
        cells: cells(['1999-01-01 00:00:00', '2001-02-03 00:00:01']),
      },
      randomColumn(random, 's', 'string', 80, 0.1),
    ])
  return QueryBed.open(t, [relationOf('r'), relationOf('q')])
})()

function picked(input: QueryNode, ...names: readonly string[]): QueryNode {
  return { op: 'project', input, columns: names.map((name) => ({ name, value: col(name) })) }
}

t.test('columns of unlike types are joined by value', async (t) => {
  const bed = await opened
  const pairs = ['u i', 'u il', 'i ul', 'ul il', 'il ul', 'c e', 'i c', 'd t'].map((pair) => pair.split(' '))
  for (const [i, [l, r]] of pairs.entries()) {
    const kind = JOIN_KINDS[i % JOIN_KINDS.length]!
    const names = kind === 'semi' || kind === 'anti' ? ['r.id'] : ['r.id', 'q.id']
    const join: QueryNode = {
      op: 'join',
      left: scan('r', 'r'),
      right: scan('q', 'q'),
      on: [[`r.${l}`, `q.${r}`]],
      kind,
    }
    const sql = `select ${names.join(', ')} from r ${SQL_JOINS[kind]} q on r.${l} = q.${r}`
    await bed.same(t, sql, picked(join, ...names), sql)
  }
  const join: QueryNode = {
    op: 'join',
    left: scan('r', 'r'),
    right: scan('q', 'q'),
    on: [
      ['r.s', 'q.s'],
      ['r.ul', 'q.il'],
      ['r.il', 'q.u'],
    ],
    kind: 'full',
    condition: { op: '<>', args: [col('r.id'), col('q.id')] },
  }
  const on = 'r.s = q.s and r.ul = q.il and r.il = q.u and r.id <> q.id'
  await bed.same(t, on, join, `select * from r full join q on ${on}`)
  const strings = { ...join, on: [['r.s', 'q.u']] as const }
  await t.rejects(bed.rows(strings), { message: /query\.on\[0\]: string and u32 cannot be compared/ })
})

t.test('columns of one name on both sides get the name of their relation', async (t) => {
  const bed = await opened
  const join: QueryNode = {
    op: 'join',
    left: { op: 'where', input: scan('r'), condition: { op: '>', args: [col('id'), { value: 40 }] } },
    right: scan('q'),
    on: [['u', 'u']],
    condition: { op: '<', args: [col('r.i'), col('q.i')] },
  }
  const sql = 'from (select * from r where id > 40) r join q on r.u = q.u and r.i < q.i'
  await bed.same(t, 'both', picked(join, 'r.id', 'q.s'), `select r.id, q.s ${sql}`)
  const batches = await bed.batches(picked(join, 'q.id'))
  t.strictSame(Object.keys(batches[0]!.columns[0]!).includes('relation'), false)
  const computed = picked(scan('q'), 'id', 'u')
  const half: QueryNode = { op: 'join', left: scan('r'), right: computed, on: [['u', 'u']] }
  await bed.same(t, 'one', picked(half, 'r.id', 'id'), 'select r.id, q.id from r join q on r.u = q.u')
  const itself: QueryNode = { op: 'product', left: scan('r'), right: scan('r') }
  await t.rejects(bed.rows(itself), { message: /two columns are named "id"; "as" of a scan/ })
})

t.test('rows are ordered by expressions', async (t) => {
  const bed = await opened
  const rest: Expression = { op: '%', args: [col('id'), { value: 7 }] }
  const ordered: QueryNode = {
    op: 'orderBy',
    input: scan('r'),
    by: [{ value: rest, descending: true }, { column: 'i', nulls: 'first' }, { column: 'id' }],
  }
  await bed.same(t, 'all', ordered, 'select * from r order by id % 7 desc, i nulls first, id', true)
  const some: QueryNode = { op: 'limit', input: picked(ordered, 'id'), rows: 9 }
  await bed.same(t, 'some', some, 'select id from r order by id % 7 desc, i nulls first, id limit 9', true)
  const both = { op: 'orderBy', input: scan('r'), by: [{ column: 'id', value: rest }] } as const
  await t.rejects(bed.rows(both), { message: /query\.by\[0\]: an order goes by a "column", or by a "value"/ })
})
