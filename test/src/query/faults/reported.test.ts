import t from 'tap'
import type { Expression, QueryNode } from '../../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../../random.js'
import { QueryBed } from '../query-bed.js'
import { randomRelation } from '../relations.js'

const col = (column: string): Expression => ({ column })
const many: Expression = { value: 4_294_967_295, type: 'u32' }
const more: Expression = { op: '*', args: [{ op: '+', args: [col('id'), many] }, many] }
const overflows: Expression = { op: '*', args: [more, more] }
const overflowing = (input: QueryNode): QueryNode => ({
  op: 'project',
  input,
  columns: [
    { name: 'id', value: col('id') },
    { name: 'x', value: overflows },
  ],
})

t.test('what has overflowed is reported by its own step, whatever follows it', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const bed = await QueryBed.open(t, [randomRelation(new Random(seed), 'r', 200)], 2 ** 22)
  const faulty = overflowing({ op: 'scan', relation: 'r' })
  const none: QueryNode = { op: 'limit', input: faulty, rows: 0 }
  const joined: QueryNode = {
    op: 'join',
    left: {
      op: 'project',
      input: { op: 'scan', relation: 'r' },
      columns: [{ name: 'other', value: col('id') }],
    },
    right: { op: 'distinct', input: faulty },
    kind: 'inner',
    on: [['other', 'id']],
  }
  const both: QueryNode = {
    op: 'union',
    left: { op: 'distinct', input: faulty },
    right: { op: 'distinct', input: faulty },
  }
  const large: QueryNode = {
    op: 'orderBy',
    input: {
      op: 'product',
      left: faulty,
      right: {
        op: 'product',
        left: { op: 'scan', relation: 'r', as: 'a' },
        right: { op: 'scan', relation: 'r', as: 'b' },
      },
    },
    by: [{ column: 'x' }],
  }
  for (const [name, query, path] of [
    ['of which no row is read', none, /query.input/],
    ['a side of a join', joined, /right/],
    ['the first of two', both, /left/],
    ['what then takes too much memory', large, /left/],
  ] as const) {
    const error = { code: 'BAD_REQUEST', message: new RegExp(`${path.source}.*overflow`) }
    await t.rejects(bed.batches(query), error, name)
    await t.rejects(bed.explain(query), error, `${name}, explained`)
    await t.rejects(bed.keep(query, 'kept'), error, `${name}, kept`)
  }
})
