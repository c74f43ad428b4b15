import t from 'tap'
import type { QueryExplanation } from '../../../protocol/query/explanation.js'
import type { Aggregate, Expression, QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { hostRelation } from './host-relation.js'
import { QueryBed } from './query-bed.js'

/** Tiles of rows, and one that is not full. */
const ROWS = 20_011
/** More than a workgroup takes, also where the CPU is the device. */
const MANY_ROWS = 140_003

const col = (column: string): Expression => ({ column })
const rows: QueryNode = { op: 'scan', relation: 'r' }

const opened = (async () => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const column = <T>(make: (row: number) => T) => Array.from({ length: ROWS }, (_, row) => make(row))
  const many = <T>(make: (row: number) => T) => Array.from({ length: MANY_ROWS }, (_, row) => make(row))
  const nullable = <T>(make: () => T) => column(() => (random.chance(0.2) ? null : make()))
  return QueryBed.open(
    t,
    [
      hostRelation('r', [
        { name: 'few', type: 'string', nullable: false, cells: column(() => random.pick(['A', 'N', 'R'])) },
        { name: 'nfew', type: 'string', nullable: true, cells: nullable(() => random.pick(['F', 'O'])) },
        { name: 'small', type: 'i32', nullable: false, cells: column(() => 100 + random.below(9)) },
        {
          name: 'wide',
          type: 'i64',
          nullable: false,
          cells: column(() => BigInt(random.below(9)) - 2n ** 62n),
        },
        { name: 'nf', type: 'f32', nullable: true, cells: nullable(() => [-1.5, 0, 1.5][random.below(3)]!) },
        { name: 'many', type: 'u32', nullable: false, cells: column(() => random.below(5000)) },
        { name: 'u', type: 'u32', nullable: false, cells: column(() => random.below(2 ** 32)) },
        { name: 'nu', type: 'u32', nullable: true, cells: nullable(() => random.below(2 ** 32)) },
        { name: 'i', type: 'i32', nullable: false, cells: column(() => random.below(2 ** 32) - 2 ** 31) },
        {
          name: 'nl',
          type: 'i64',
          nullable: true,
          cells: nullable(() => BigInt(random.below(2 ** 32)) << 16n),
        },
        {
          name: 'l',
          type: 'i64',
          nullable: false,
          cells: column((row) => (row === 7 ? 2n ** 63n - 1n : BigInt(row))),
        },
        { name: 'f', type: 'f32', nullable: false, cells: column(() => random.below(1000) / 8) },
      ]),
      hostRelation('large', [
        { name: 'k', type: 'string', nullable: false, cells: many(() => random.pick(['A', 'N', 'R'])) },
        {
          name: 'n',
          type: 'i32',
          nullable: true,
          cells: many((row) => (row % 5 === 0 ? null : row - 70_000)),
        },
        {
          name: 'l',
          type: 'i64',
          nullable: false,
          cells: many((row) => (BigInt(row) - 70_000n) * 2n ** 38n),
        },
      ]),
    ],
    undefined,
    true,
  )
})()

/** Aggregates that a workgroup can accumulate, and their SQL. */
const WORDS = [
  'count(*)',
  'count(nu)',
  'sum(u)',
  'sum(nu)',
  'sum(i)',
  'min(i)',
  'max(nu)',
  'sum(nl)',
  'min(f)',
]
/** Others. */
const LONG = ['min(nl)', 'max(wide)', 'sum(f)']

function groupBy(input: QueryNode, keys: readonly string[], functions: readonly string[]): QueryNode {
  const aggregates = functions.map((text, i): Aggregate => {
    const [, fn, value] = /(\w+)\((.*)\)/.exec(text)!
    const name = `a${i}`
    if (fn === 'count') return { name, function: 'count', ...(value === '*' ? {} : { value: col(value!) }) }
    return { name, function: fn as 'sum', value: col(value!) }
  })
  return { op: 'groupBy', input, keys: keys.map((name) => ({ name, value: col(name) })), aggregates }
}

function sqlOf(from: string, keys: readonly string[], functions: readonly string[]): string {
  const by = keys.length === 0 ? '' : ` group by ${keys.join(', ')}`
  return `select ${[...keys, ...functions].join(', ')} from ${from}${by}`
}

const SLOTS = 'a slot for each group'
const SORTED = 'radix sort'

const KEYS: readonly (readonly [keys: readonly string[], method: string])[] = [
  [[], 'one pass'],
  [['few'], SLOTS],
  [['few', 'nfew'], SLOTS],
  [['small', 'nfew'], SLOTS],
  [['wide'], SLOTS],
  [['nf', 'few'], 'any'],
  [['many'], SORTED],
  [['many', 'few'], SORTED],
]

t.test('groups are found by slots where they are few, and by order else', async (t) => {
  const bed = await opened
  for (const [keys, method] of KEYS) {
    for (const functions of [WORDS, [...WORDS, ...LONG], []]) {
      if (keys.length + functions.length === 0) continue
      const query = groupBy(rows, keys, functions)
      const name = `${keys} ${functions.length}`
      await bed.same(t, name, query, sqlOf('r', keys, functions))
      const explained = await bed.explain(query)
      const expected = method === SLOTS && functions.length > WORDS.length ? SORTED : method
      if (expected !== 'any') t.equal(explained.method, expected, name)
    }
  }
})

const below = (column: string, value: number): Expression => ({
  op: '<',
  args: [col(column), { value }],
})
const where = (condition: Expression): QueryNode => ({ op: 'where', input: rows, condition })

t.test('rows of a relation are chosen in the pass that groups them', async (t) => {
  const bed = await opened
  const conditions: readonly (readonly [Expression, sql: string])[] = [
    [below('many', 2500), 'many < 2500'],
    [below('nu', 2 ** 31), `nu < ${2 ** 31}`],
    [below('many', 0), 'many < 0'],
    [
      { op: 'and', args: [below('small', 103), { op: 'isNull', args: [col('nf')] }] },
      'small < 103 and nf is null',
    ],
  ]
  for (const [condition, sql] of conditions) {
    for (const [keys, method] of KEYS) {
      const query = groupBy(where(condition), keys, WORDS)
      await bed.same(t, `${keys} where ${sql}`, query, sqlOf(`r where ${sql}`, keys, WORDS))
      if (method === 'any') continue
      const [chosen] = (await bed.explain(query)).inputs as readonly QueryExplanation[]
      t.equal(chosen!.method === 'in the pass that groups', method !== SORTED, `${keys} where ${sql}`)
      const [counted] = await bed.rows(groupBy(where(condition), [], ['count(*)']))
      t.same([chosen!.rows], counted, 'rows that are chosen are told')
    }
  }
})

t.test('what workgroups have found of a group is put together', async (t) => {
  const bed = await opened
  const large: QueryNode = { op: 'scan', relation: 'large' }
  const functions = ['count(*)', 'count(n)', 'sum(n)', 'sum(l)', 'min(n)', 'max(n)']
  for (const keys of [[], ['k']]) {
    await bed.same(t, `${keys}`, groupBy(large, keys, functions), sqlOf('large', keys, functions))
  }
  const extremes = ['min(l)', 'max(l)']
  await bed.same(t, 'extremes of 64 bits', groupBy(large, [], extremes), sqlOf('large', [], extremes))
})

t.test('what overflows is told of the operator that it is in', async (t) => {
  const bed = await opened
  const doubled: Expression = { op: '+', args: [col('l'), col('l')] }
  const overflowing: Expression = { op: '>', args: [doubled, { value: 0 }] }
  for (const keys of [[], ['few'], ['many']]) {
    const fails = (query: QueryNode, message: RegExp) =>
      t.rejects(bed.rows(query), { code: 'BAD_REQUEST', message })
    await fails(groupBy(where(overflowing), keys, ['count(*)']), /^query\.input: a result of an expression/)
    const large = { value: `9${'0'.repeat(37)}`, type: 'i128' } as const
    const sums = [
      { name: 'small', function: 'count' } as const,
      { name: 'a1', function: 'sum', value: large } as const,
    ]
    await fails({ ...groupBy(rows, keys, []), aggregates: sums } as QueryNode, /^query: the sum "a1"/)
    const spared: Expression = { op: 'and', args: [overflowing, below('l', 1e9)] }
    const sql = sqlOf(`r where l > 0 and l < 1000000000`, keys, ['count(*)', 'sum(l)'])
    await bed.same(
      t,
      `${keys}: a row that is excluded`,
      groupBy(where(spared), keys, ['count(*)', 'sum(l)']),
      sql,
    )
  }
})
