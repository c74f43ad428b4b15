import t from 'tap'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'
import { randomColumn, randomRelation } from './relations.js'

const col = (column: string): Expression => ({ column })
const val = (value: number | string): Expression => ({ value })
const op = (name: '+' | '-' | '*' | '=' | '<' | '>', a: Expression, b: Expression): Expression => ({
  op: name,
  args: [a, b],
})

/** As deep as it has to be. */
function balanced(
  terms: readonly Expression[],
  join: (a: Expression, b: Expression) => Expression,
): Expression {
  if (terms.length === 1) return terms[0]!
  const middle = terms.length >> 1
  return join(balanced(terms.slice(0, middle), join), balanced(terms.slice(middle), join))
}

const R: QueryNode = { op: 'scan', relation: 'r' }

t.test('an expression is compared with thousands of constants', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const bed = await QueryBed.open(t, [randomRelation(random, 'r', 500)])
  const numbers = Array.from({ length: 4000 }, (_, i) => 3 * i - 6000)
  const floats = numbers.map((number) => number / 4)
  const texts = Array.from({ length: 60 }, (_, i) => `${'abc'[i % 3]}${'aeb'[((i / 3) % 3) | 0]}`)
  const lists: [string, Expression, readonly (number | string)[]][] = [
    ['u::bigint + 1', op('+', col('u'), val(1)), numbers],
    ['ni::bigint + 1', op('+', col('ni'), val(1)), numbers],
    ['nf * 2', op('*', col('nf'), val(2)), [...floats, -0]],
    [
      "case when u < 5 then ns else 'ab' end",
      {
        op: 'case',
        when: [{ condition: op('<', col('u'), val(5)), value: col('ns') }],
        otherwise: val('ab'),
      },
      texts,
    ],
  ]
  for (const [sql, value, list] of lists) {
    const condition: Expression = { op: 'in', args: [value, ...list.map(val)] }
    const constants = list.map((each) => (typeof each === 'string' ? `'${each}'` : each)).join(', ')
    const asked = `${sql} in (${constants})`
    await bed.same(t, sql, { op: 'where', input: R, condition }, `select * from r where ${asked}`)
    const columns = [{ name: 'c', value: condition }]
    await bed.same(t, sql, { op: 'project', input: R, columns }, `select ${asked} from r`)
  }
})

t.test('expressions are larger than a kernel', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const types = ['i32', 'u32', 'i64', 'f32'] as const
  const names = Array.from({ length: 24 }, (_, i) => `c${i}`)
  const columns = names.map((name, i) => randomColumn(random, name, types[i % 4]!, 300, 0.2))
  const bed = await QueryBed.open(t, [hostRelation('r', columns)])
  const project = (value: Expression): QueryNode => ({
    op: 'project',
    input: R,
    columns: [{ name: 'c', value }],
  })

  const terms = Array.from({ length: 120 }, (_, i) => op('*', col(`c${4 * (i % 6)}`), val(i - 60)))
  const sqlTerms = terms.map((_, i) => `c${4 * (i % 6)}::hugeint * ${i - 60}`)
  const sum = balanced(terms, (a, b) => op('+', a, b))
  await bed.same(t, 'a long sum', project(sum), `select (${sqlTerms.join(' + ')})::bigint from r`)

  const compared = Array.from(
    { length: 200 },
    (_, i) => [`c${i % 24}`, `c${(i + 4 + 4 * (i % 5)) % 24}`] as const,
  )
  const conditions = compared.map(([a, b], i) => op(i % 2 === 0 ? '<' : '>', col(a), col(b)))
  const sqlConditions = compared.map(([a, b], i) => `${a} ${i % 2 === 0 ? '<' : '>'} ${b}`)
  for (const joined of ['and', 'or'] as const) {
    const sql = sqlConditions.join(` ${joined} `)
    await bed.same(t, joined, project({ op: joined, args: conditions }), `select ${sql} from r`)
  }

  const when = names
    .filter((_, i) => i % 4 === 0)
    .map((name) => ({ condition: op('=', col(name), val(0)), value: col(name) }))
  const branches = Array.from({ length: 400 }, (_, i) => ({
    condition: op('=', op('+', col('c1'), val(i % 7)), val(3 * i)),
    value: i % 3 === 0 ? val(i) : col(`c${4 * (i % 6)}`),
  }))
  const cases: Expression = { op: 'case', when: [...when, ...branches], otherwise: val(-1) }
  const sqlWhen = [
    ...when.map((_, i) => `when c${4 * i} = 0 then c${4 * i}`),
    ...branches.map(
      (_, i) => `when c1::bigint + ${i % 7} = ${3 * i} then ${i % 3 === 0 ? i : `c${4 * (i % 6)}`}`,
    ),
  ]
  await bed.same(t, 'a long case', project(cases), `select case ${sqlWhen.join(' ')} else -1 end from r`)
})
