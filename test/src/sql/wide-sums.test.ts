import t from 'tap'
import type { ColumnType } from '../../../protocol/column-types.js'
import { formatText } from '../../../protocol/value-texts.js'
import { Random, seedOfRun } from '../../random.js'
import { type Cell, hostRelation } from '../query/host-relation.js'
import { SqlBed } from './sql-bed.js'

const ROWS = 300

/** Numbers of up to 64 bits: small ones, and the ends of their types. */
function randomNumber(random: Random, type: ColumnType): Cell {
  const word = (BigInt(random.word()) << 32n) | BigInt(random.word())
  const bits = BigInt.asUintN(64, word) >> BigInt(random.below(64))
  if (type === 'u64') return random.chance(0.1) ? 2n ** 64n - 1n : bits
  const signed = random.chance(0.1) ? -(2n ** 63n) : BigInt.asIntN(64, random.chance(0.5) ? bits : -bits)
  return type === 'i64' ? signed : formatText(signed % 10n ** 18n, type)
}

/** Sums by a key, with few rows each, so that they are of all sizes. */
const SUMS = `(select k, sum(u) su, sum(i) si, sum(ul) sul, sum(il) sil, sum(c) sc, sum(e) se from r group by k)`

const EXPRESSIONS = [
  'si + sil',
  'sul - sil',
  'sil * 3 - k',
  'su * si',
  '-sil',
  'abs(sil)',
  'sil % 1000003',
  'sul // 1000003',
  'sil / 7',
  'sc / sil',
  'sil::double',
  'sc::double',
  'sil::decimal(38, 2)',
  'sc::decimal(38, 0)',
  'sc::hugeint',
  'si::bigint',
  'si::decimal(18, 3)',
  'round(sc, 1)',
  'round(sc)',
  'floor(sc)',
  'ceil(sc)',
  'sc * 0.0001',
  'sc + 1.5',
  'sc - se',
  'se + k',
  'c2::decimal(19, 2) * e2',
  'c2 * il2',
  'il2 + c2',
  'coalesce(sil, 0) + 1',
  'case when sil > 0 then sul else sil end',
  '(k * 1e30)::hugeint',
  '(k * 1e30)::decimal(38, 2)',
  "'-12345678901234567890.125'::decimal(38, 3) + k",
]

/** Expressions of a statement. */
const AT_ONCE = 17

const LIST = Array.from({ length: 60 }, (_, i) => 2 * i - 40)

const STATEMENTS = [
  'select k, sum(u), sum(i), sum(ul), sum(il), sum(c), sum(e) from r group by k',
  'select sum(ul), avg(il), sum(c) from r',
  'select sum(il), sum(c) from r where k < 0',
  'select k, sum(il) s from r group by k having sum(il) > 1000000000000000000 order by s desc, k limit 20',
  'select k, sum(c) s from r group by k having sum(c) < 0.5 or sum(c) > 9999999999999999.99 order by s, k',
  `select sum(sil), min(sil), max(sc), avg(sc), count(distinct si) from ${SUMS}`,
  `select k % 3, sum(sc), min(sul), median(si) from ${SUMS} group by all`,
  `select si, count(*) from ${SUMS} group by si order by si desc nulls last`,
  `select distinct si, sc from ${SUMS}`,
  `select si from ${SUMS} union select i from r`,
  `select sum(i) from r group by k intersect select i from r`,
  `select a.k, b.k from ${SUMS} a join ${SUMS} b on a.si = b.si`,
  `select a.k, b.k from ${SUMS} a left join ${SUMS} b on a.si = b.su and a.k < b.k`,
  `select k from ${SUMS} where sil = (select max(sil) from ${SUMS})`,
  `select k from ${SUMS} where si in (${LIST.join(', ')}, 12345678901234567890123, -9223372036854775809) or si between -100 and 7.5 or sc is null`,
  `select r.k, i from r join ${SUMS} s on r.i = s.si`,
]

const OVERFLOWS = [
  ['select sum(il) * 1e19::hugeint * 1e19::hugeint from r', /does not fit its type \(overflow\)/],
  ['select sum(s) from (select 1e37::hugeint * (k // k + 4) s from r)', /the sum .* has more than 38 digits/],
  ['select sum(c) * 100000000000000000000.0000 from r', /overflow/],
  ['select sum(il)::integer from r', /overflow/],
  ['select sum(ul)::bigint from r', /overflow/],
] as const

t.test('sums have the 38 digits that they have in DuckDB, and are used as they are there', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const column = (name: string, type: ColumnType, cell: () => Cell) => {
    const cells = Array.from({ length: ROWS }, () => (random.chance(0.2) ? null : cell()))
    return { name, type, nullable: true, cells }
  }
  const relation = hostRelation('r', [
    { name: 'k', type: 'i32', nullable: false, cells: Array.from({ length: ROWS }, () => random.below(120)) },
    column('u', 'u32', () => random.below(random.chance(0.5) ? 4 : 2 ** 32)),
    column('i', 'i32', () => random.below(9) - 4),
    column('ul', 'u64', () => randomNumber(random, 'u64')),
    column('il', 'i64', () => randomNumber(random, 'i64')),
    column('c', 'decimal(18,2)', () => randomNumber(random, 'decimal(18,2)')),
    column('e', 'decimal(18,6)', () => randomNumber(random, 'decimal(18,6)')),
  ])
  const bed = await SqlBed.open(t, [relation])
  for (const text of STATEMENTS) await bed.same(t, text)
  const joined = `(select s.*, r.c c2, r.e e2, r.il il2 from ${SUMS} s join r using (k))`
  for (let first = 0; first < EXPRESSIONS.length; first += AT_ONCE)
    await bed.same(t, `select k, ${EXPRESSIONS.slice(first, first + AT_ONCE).join(', ')} from ${joined}`)
  for (const [text, message] of OVERFLOWS) t.match(await bed.refusal(text), message, text)
})
