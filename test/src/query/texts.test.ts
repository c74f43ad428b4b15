import t from 'tap'
import { coalesce, col, concat, constant, type Value, when } from '../../../clients/sdk/query/value.js'
import type { QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'

const R: QueryNode = { op: 'scan', relation: 'r' }
const LETTERS = ['a', 'A', 'b', 'é', 'ß', 'Σ', '\u{1f600}', ' ', '%', '_', '\\', '\uffee', '"']

function randomText(random: Random, most: number): string {
  return Array.from({ length: random.below(most + 1) }, () => random.pick(LETTERS)).join('')
}

/** A column of texts of few letters, one that has nulls, and one of few texts. */
function texts(random: Random) {
  const column = (name: string, nulls: number, make: () => string) => {
    const cells = Array.from({ length: 500 }, () => (random.chance(nulls) ? null : make()))
    return { name, type: 'string', nullable: nulls > 0, cells } as const
  }
  const few = Array.from({ length: 8 }, () => randomText(random, 5))
  return hostRelation('r', [
    column('s', 0, () => randomText(random, 8)),
    column('n', 0.2, () => randomText(random, 3)),
    column('few', 0.1, () => random.pick(few)),
  ])
}

const [s, n, few] = [col('s'), col('n'), col('few')]

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function condition(sql: string, { expression }: Value): [string, QueryNode, string] {
  return [sql, { op: 'where', input: R, condition: expression }, `select * from r where ${sql}`]
}

t.test('patterns find what they find in DuckDB', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const bed = await QueryBed.open(t, [texts(random)])
  for (let i = 0; i < 60; i++) {
    const escaping = i % 3 === 0 ? '\\' : undefined
    const text = [...randomText(random, 4)].map((each) =>
      random.chance(0.4) ? random.pick(['%', '_']) : each,
    )
    if (escaping !== undefined && /(^|[^\\])(\\\\)*\\$/.test(text.join(''))) continue
    const pattern = text.join('')
    const column = random.pick(['s', 'n', 'few'])
    const like = `${column} like ${quoted(pattern)}${escaping === undefined ? '' : " escape '\\'"}`
    const value = col(column).like(pattern, escaping)
    await bed.same(t, ...condition(like, value))
    await bed.same(t, ...condition(`not (${like}) or n is null`, value.not().or(n.isNull())))
    const columns = [{ name: 'x', value: value.expression }]
    await bed.same(t, `select ${like}`, { op: 'project', input: R, columns }, `select ${like} from r`)
  }
  const values = [s.like('a%', 'ab'), s.like('a\\', '\\'), s.isNull().like('a')]
  for (const [i, message] of [/one character/, /ends with its escape/, /looks into strings only/].entries()) {
    await t.rejects(bed.rows({ op: 'where', input: R, condition: values[i]!.expression }), { message })
  }
})

const SUBSTRINGS = [[1], [3], [0], [-2], [9], [1, 2], [0, 3], [-3, 2], [3, -2], [-9, 10], [2, 0], [7, -20]]

const VALUES: readonly (readonly [sql: string, value: Value])[] = [
  ['length(n)', n.length()],
  ['length(s || few)', s.append(few).length()],
  ['upper(n)', n.upper()],
  ['lower(s)', s.lower()],
  ...SUBSTRINGS.map(([from, length]) => {
    const sql = `substring(n, ${[from, length].filter((each) => each !== undefined).join(', ')})`
    return [sql, n.substring(from!, length)] as const
  }),
  ["'<' || few || '>'", constant('<').append(few, '>')],
  ['few || substring(n, 1, 1)', few.append(n.substring(1, 1))],
  ["concat(few, ',', substring(n, 1, 1), 7, true)", concat(few, ',', n.substring(1, 1), 7, true)],
  ["coalesce(upper(n), few, 'none')", coalesce(n.upper(), few, 'none')],
  ["case when n like '_a%' then upper(few) else n end", when([[n.like('_a%'), few.upper()]], n)],
  ["(n < few)::varchar || '!'", n.lt(few).as('string').append('!')],
]

const CONDITIONS: readonly (readonly [sql: string, condition: Value])[] = [
  ['length(n) = 2', n.length().eq(2)],
  ['upper(n) = upper(few)', n.upper().eq(few.upper())],
  ["substring(s, 1, 1) in ('a', 'é', 'nowhere')", s.substring(1, 1).in(['a', 'é', 'nowhere'])],
  ["lower(n) < 'b'", n.lower().lt('b')],
  ["few || n like 'a%b%'", few.append(n).like('a%b%')],
]

t.test('functions of strings give what DuckDB gives', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const bed = await QueryBed.open(t, [texts(new Random(seed))])
  for (const [sql, { expression }] of VALUES) {
    const columns = [{ name: 'x', value: expression }]
    await bed.same(t, sql, { op: 'project', input: R, columns }, `select ${sql} from r`)
  }
  for (const [sql, value] of CONDITIONS) await bed.same(t, ...condition(sql, value))
  const initial = { name: 'initial', value: n.substring(1, 1).upper().expression }
  const groups: QueryNode = {
    op: 'groupBy',
    input: R,
    keys: [initial],
    aggregates: [
      { name: 'rows', function: 'count' },
      { name: 'longest', function: 'max', value: s.length().expression },
      { name: 'last', function: 'max', value: s.lower().expression },
    ],
  }
  const select = 'select upper(substring(n, 1, 1)) initial, count(*)::uinteger, max(length(s)), max(lower(s))'
  await bed.same(t, 'groups', groups, `${select} from r group by 1`)
  const ordered: QueryNode = { op: 'orderBy', input: groups, by: [{ column: 'last' }, { column: 'initial' }] }
  await bed.same(t, 'order', ordered, `${select} from r group by 1 order by 4, 1 nulls last`, true)
  const joined: QueryNode = {
    op: 'join',
    left: groups,
    right: {
      op: 'distinct',
      input: { op: 'project', input: R, columns: [{ name: 'x', value: few.upper().expression }] },
    },
    on: [['initial', 'x']],
  }
  const right = 'select distinct upper(few) x from r'
  await bed.same(
    t,
    'join',
    joined,
    `select * from (${select} from r group by 1) join (${right}) on initial = x`,
  )
})
