import t from 'tap'
import { col, type Value } from '../../../clients/sdk/query/value.js'
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

const [s, n] = [col('s'), col('n')]

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
