import t from 'tap'
import { LIMITS } from '../../../protocol/limits.js'
import { checkQuery } from '../../../protocol/query/check-query.js'
import type { ResultColumn } from '../../../protocol/query/tree.js'

const SCHEMAS: Readonly<Record<string, readonly ResultColumn[]>> = {
  r: [
    { name: 'u', type: 'u32', nullable: false },
    { name: 'i', type: 'i32', nullable: true },
    { name: 'ul', type: 'u64', nullable: false },
    { name: 'il', type: 'i64', nullable: false },
    { name: 'f', type: 'f32', nullable: false },
    { name: 's', type: 'string', nullable: true },
  ],
}

const check = (query: unknown) => checkQuery(query, (name) => SCHEMAS[name]!)
const scan = { op: 'scan', relation: 'r' }
const q = { op: 'scan', relation: 'r', as: 'q' }
const where = (condition: unknown) => ({ op: 'where', input: scan, condition })
const project = (value: unknown) => ({ op: 'project', input: scan, columns: [{ name: 'x', value }] })
const col = (column: string) => ({ column })
const binary = (op: string, a: unknown, b: unknown) => ({ op, args: [a, b] })

t.test('faults are named with the way to them', async (t) => {
  const cases: readonly (readonly [query: unknown, message: string])[] = [
    [undefined, 'query: nothing stands where a map is needed'],
    [null, 'query: null stands where a map is needed'],
    [{ op: 'sort' }, 'query: "op" must be one of scan, where, project, join'],
    [{ op: 'scan', relation: 7 }, 'query: "relation" must be a text, not 7'],
    [{ ...scan, alias: 'x' }, 'query: unknown field "alias"; the fields are op, relation, as'],
    [where(col('v')), 'query.condition: no column "v"; the columns are u, i, ul, il, f, s'],
    [where(col('u')), 'query.condition: a condition is needed'],
    [
      where({ op: 'and', args: [binary('=', col('u'), { value: 'x' })] }),
      'query.condition.args[0]: u32 and string do not go together: column "u" is u32, the constant "x" is string',
    ],
    [
      where(binary('<', col('ul'), col('il'))),
      'query.condition: u64 and i64 do not go together; a cast makes them alike',
    ],
    [
      where(binary('=', col('u'), { value: '99999999999', type: 'u32' })),
      'query.condition.args[1]: "99999999999" is not of type u32',
    ],
    [where({ op: 'in', args: [] }), 'query.condition: "args" has 0 elements'],
    [
      where({ op: 'in', args: [col('u')], lists: [0] }),
      'query.condition: there is no list 0; 0 came with the query',
    ],
    [
      project({ op: 'contains', args: [col('u')], text: 'x' }),
      'query.columns[0].value: "contains" looks into strings only',
    ],
    [
      project({ op: 'cast', args: [{ op: 'isNull', args: [col('s')] }], type: 'date' }),
      'query.columns[0].value: boolean cannot be cast to date',
    ],
    [
      project({
        op: 'case',
        when: [{ condition: { value: true }, value: col('s') }],
        otherwise: { value: 1 },
      }),
      'query.columns[0].value: the values of a case must go together: column "s" is string, the constant 1 is i64',
    ],
    [{ op: 'join', left: scan, right: q }, 'query: a join needs "on"'],
    [{ op: 'join', left: scan, right: q, on: ['u'] }, 'query.on[0]: a pair of column names is needed'],
    [
      { op: 'join', left: scan, right: q, on: [['u', 'u']] },
      'query.on[0][1]: no column "u"; the columns are q.u',
    ],
    [
      { op: 'join', left: scan, right: q, on: [['u', 'q.s']] },
      'query.on[0]: u32 and string cannot be compared: column "u" is u32, column "q.s" is string',
    ],
    [{ op: 'join', left: scan, right: scan, on: [['u', 'u']] }, 'query: two columns are named "u"'],
    [
      { op: 'join', left: scan, right: q, band: { left: 'f', right: 'q.f', width: 1 } },
      'query.band: a band needs',
    ],
    [
      { op: 'join', left: scan, right: q, band: { left: 'u', right: 'q.u', width: -1 } },
      'query.band: "width" must be a whole number',
    ],
    [
      { op: 'join', left: scan, right: q, band: { left: 'u', right: 'q.u', width: 1 }, algorithm: 'hj' },
      'query: a hash join finds equal keys only',
    ],
    [{ op: 'union', left: scan, right: project(col('u')) }, 'query: both sides need equally many columns'],
    [
      { op: 'union', left: project(col('u')), right: project(col('s')) },
      'query: column "x" is u32 on the left',
    ],
    [{ op: 'except', left: scan, right: q, byKey: ['i'] }, 'query: column "i" may be null, which no key may'],
    [{ op: 'groupBy', input: scan, keys: [], aggregates: [] }, 'query: "aggregates" has 0 elements'],
    [
      {
        op: 'groupBy',
        input: scan,
        keys: [],
        aggregates: [{ name: 'x', function: 'median', value: col('u'), distinct: true }],
      },
      'query.aggregates[0]: a median is of all values; take that of rows that are distinct',
    ],
    [
      { op: 'groupBy', input: scan, keys: [], aggregates: [{ name: 'x', function: 'sum' }] },
      'query.aggregates[0]: "sum" needs',
    ],
    [
      { op: 'groupBy', input: scan, keys: [], aggregates: [{ name: 'x', function: 'avg', value: col('s') }] },
      'query.aggregates[0]: there is no avg of string',
    ],
    [
      { op: 'orderBy', input: scan, by: [{ column: 'u', nulls: 'none' }] },
      'query.by[0]: "nulls" must be one of',
    ],
    [{ op: 'limit', input: scan, rows: -1 }, 'query: "rows" must be a whole number'],
  ]
  for (const [query, message] of cases) {
    try {
      check(query)
      t.fail(`${message}: no fault was found`)
    } catch (error) {
      t.match(error, { code: 'BAD_REQUEST' })
      t.ok(
        error instanceof Error && error.message.startsWith(message),
        error instanceof Error ? error.message : message,
      )
    }
  }
})

t.test('limits of a tree', async (t) => {
  const nested = (levels: number) => {
    let node: object = scan
    for (let i = 0; i < levels; i++) node = { op: 'distinct', input: node }
    return node
  }
  t.ok(check(nested(LIMITS.queryDepth)), 'as deep as may be')
  t.throws(() => check(nested(LIMITS.queryDepth + 1)), {
    code: 'BAD_REQUEST',
    message: /^query(\.input){5}\.…(\.input){6}: .* levels deep/,
  })
  const wide = (levels: number): object => {
    if (levels === 0) return project(col('u'))
    return { op: 'union', left: wide(levels - 1), right: wide(levels - 1) }
  }
  t.ok(check(wide(6)))
  t.throws(() => check(wide(8)), { message: /at most 256 operators/ })
  const many = { op: 'and', args: new Array(LIMITS.queryExpressions).fill({ value: true }) }
  t.throws(() => check(where(many)), { message: /at most 4096 parts/ })
  const multiplied = (levels: number): object => {
    if (levels === 0) return { op: 'isNull', args: [col('i')] }
    return { op: 'in', args: [multiplied(levels - 1), { value: true }, { value: false }] }
  }
  t.ok(check(where(multiplied(12))))
  t.throws(() => check(where(multiplied(40))), { message: /at most 262144 parts/ })
})

t.test('what a tree gives', async (t) => {
  const types = (query: unknown) =>
    check(query).columns.map(({ type, nullable }) => `${type}${nullable ? '?' : ''}`)
  t.strictSame(types(project(binary('+', col('u'), { value: 1 }))), ['i64'])
  t.strictSame(types(project(binary('*', col('ul'), col('u')))), ['u64'])
  t.strictSame(types(project(binary('-', col('i'), col('f')))), ['f32?'])
  t.strictSame(types(project(binary('/', col('u'), col('u')))), ['f64?'])
  t.strictSame(types(project({ value: null })), ['i64?'])
  t.strictSame(types(project({ value: '18446744073709551615', type: 'u64' })), ['u64'])
  t.strictSame(types(project(binary('<', col('i'), { value: 5 }))), ['boolean?'])
  const aggregates = (['count', 'sum', 'min', 'max', 'avg'] as const).flatMap((name) =>
    ['u', 'i'].map((column) => ({ name: `${name} ${column}`, function: name, value: col(column) })),
  )
  const grouped = (keys: unknown[]) => ({ op: 'groupBy', input: scan, keys, aggregates })
  const all = ['u32', 'u32', 'i128?', 'i128?', 'u32?', 'i32?', 'u32?', 'i32?', 'f64?', 'f64?']
  t.strictSame(types(grouped([])), all)
  const byKey = ['string?', 'u32', 'u32', 'i128', 'i128?', 'u32', 'i32?', 'u32', 'i32?', 'f64', 'f64?']
  t.strictSame(types(grouped([{ name: 's', value: col('s') }])), byKey)
  const join = (kind: string) => ({ op: 'join', kind, left: project(col('u')), right: q, on: [['x', 'q.u']] })
  const right = ['u32', 'i32?', 'u64', 'i64', 'f32', 'string?']
  const padded = ['u32?', 'i32?', 'u64?', 'i64?', 'f32?', 'string?']
  t.strictSame(types(join('inner')), ['u32', ...right])
  t.strictSame(types(join('left')), ['u32', ...padded])
  t.strictSame(types(join('right')), ['u32?', ...right])
  t.strictSame(types(join('full')), ['u32?', ...padded])
  t.strictSame(types(join('anti')), ['u32'])
})

t.test('whole numbers that have lost digits meet no integers but those that they are past', async (t) => {
  const large = { value: 2 ** 53 }
  const asText = { value: '9007199254740993', type: 'u64' }
  const refused = { code: 'BAD_REQUEST', message: /past 2\^53 has lost digits.*as a text with a type/ }
  // Each may have been a number of the type before it was rounded.
  const within = { u: [], i: [], ul: [2 ** 53, 2 ** 64], il: [2 ** 53, -(2 ** 53), 2 ** 63, -(2 ** 63)] }
  for (const [name, values] of Object.entries(within)) {
    for (const value of values) {
      t.throws(() => check(where(binary('=', col(name), { value }))), refused)
      t.throws(() => check(where(binary('<', { value }, col(name)))), refused)
      t.throws(() => check(where({ op: 'in', args: [col(name), { value: 1 }, { value }] })), refused)
    }
    check(
      where({ op: 'in', args: [col(name), { value: 1 }, { value: 2 ** 64 + 2 ** 12 }, { value: -1e300 }] }),
    )
    t.throws(() => check(project(binary('+', col(name), large))), refused)
    const when = [{ condition: { value: true }, value: col(name) }]
    t.throws(() => check(project({ op: 'case', when, otherwise: large })), refused)
    check(where(binary('=', col(name), { value: 2 ** 53 - 1 })))
    check(where(binary('=', col(name), { value: 1e30, type: 'f32' })))
  }
  check(where(binary('<', col('f'), { value: 1e30 })))
  check(where(binary('=', col('ul'), asText)))
})
