import t from 'tap'
import { catalogueOf } from '../../../src/sql/catalogue.js'
import { Statements } from '../../../src/sql/statements.js'
import { Random, seedOfRun } from '../../random.js'
import { SqlBed } from './sql-bed.js'
import { tameRelation } from './tame-relation.js'

const STATEMENTS = [
  // Rows and columns.
  'select * from r',
  "select id, s, c from r where i > 3 and d < date '1994-01-01' order by id",
  'from q select id + 1 as next, id, id where ni is not null order by id desc limit 7 offset 2',
  'select i as a, -c b, i * 2::bigint + 1, abs(i) from r where not (u between 3 and 9) or s is null',
  "select id, case when i > 0 then 'up' when i = 0 then s else ns end from r order by 2 nulls first, 1",
  'select coalesce(ni, i, 0), nullif(u, 3) from r',
  "select s from r where s like 'PROMO%' or s in ('a', 'ab', 'z') or ns like '%red'",
  'select distinct s, nb from r',
  'select 1, id from q where id in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17) order by id',
  'select id from q where id not in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17) or id in (20, null)',
  'select id from r where ni is distinct from 3 and ni is not distinct from ni order by i, ns desc nulls last, id',
  'select * from (select id, u::bigint + 1 as v from r where b) where v > 5 order by id limit 3',
  "select id from r where d >= date '1990-01-01' and d < date '1990-01-01' + interval 20 year and t > d",
  "select id from r where timestamp '1997-06-24' > nd and d <> date '1992-01-01' + interval 12 hour and d between date '1991-01-01' - interval 1 day and date '1999-01-01' + interval 1 minute",
  'select id from q where false',
  "select 1 as one, 'x' as x, null::integer as nothing",
  "select * from (values (1, 'a'), (2, null)) as v(k, w) order by k",
  // Groups.
  'select count(*), count(ni), sum(i), min(s), max(d), sum(c) from r',
  'select s, count(*) n, sum(u), avg(c) from r group by s having count(*) > 1 order by s',
  'select nb, b, sum(ni) from r group by all order by all',
  'select i + 1, max(id) from r group by i + 1',
  'select count(*) filter (where b), sum(i) filter (where ni > 0) from r',
  'select sum(n), max(n) from (select ns, count(*) as n from r group by ns)',
  'select ns, count(distinct ni), sum(distinct ni) from r group by ns',
  'select count(distinct s) from r where b',
  'select s, count(distinct ni), sum(u), median(i), count(*), sum(distinct i), avg(distinct c), max(distinct id) from r group by s',
  'select count(distinct s), count(distinct i), median(ni), median(g), stddev_samp(i), var_samp(u), min(c) from r',
  'select nb, median(c::double), bool_and(b), bool_or(nb), first(id) from (select * from r order by id) group by nb order by nb',
  'select first(s), median(u) filter (where b) from r where id = 7',
  'select r.s, r.id, q.ns, r.nd, q.id, r.id + 1, count(*) from r join q on r.u = q.u group by all',
  'select distinct q.s, q.id, q.ni, r.i from r left join q on r.u = q.u and q.b',
  'select any_value(s), min(id) from r where id = 7',
  'select nb, i % 2 = 0, avg(u), stddev(i), variance(g) from q group by all',
  'select round(c), round(e, 2), floor(g), ceil(c), u // 3, c / 3, i / u, g * 2, c::double, u::decimal(12, 2) from r',
  "select s || 'x', concat(ns, s), upper(s), length(ns), substring(s, 2, 3), left(s, 1) from r",
  "select s from r where s not like '%red' and (ns like 'P%O_r%' or ns is null)",
  "select year(d), extract(month from t), date_trunc('month', d), d + 3, d - date '1990-01-01', t + interval 1 month from r",
  'select sum(f), sum(g), avg(f) from r where abs(f) < 1000 and abs(g) < 1000',
  // Joins.
  'select r.id, q.id from r join q on r.i = q.i order by 1, 2',
  'select r.id, q.s from r left join q on r.ni = q.ni and q.b order by r.id, q.id',
  'select r.id, q.id from r right join q on r.u = q.u',
  'select r.id, q.id from r full join q on r.ns = q.ns and r.nd = q.nd',
  'select a.id, b.id from q a, q b where a.i < b.i and a.u = b.u',
  'select a.id, b.id from q a, q b where a.i < b.i and a.id > 30',
  'select a.id, b.id from q a join q b on a.i = b.i or a.u = b.u',
  'select r.id, q.id from r join q on r.i + 1 = q.u',
  'select count(*) from r, q',
  'select x.s, x.n, r.id from (select s, count(*) n from q group by s) x join r using (s) order by r.id',
  'select r.id, coalesce(q.k, -1) from r left join (select i, 1 as k from q group by i) q on r.i = q.i',
  'select r.id, q.id from r left join q on r.u = q.u and r.g < q.g order by 1, 2',
  'select r.id, q.id from r full join q on r.u = q.u and r.d <> q.d',
  'select r.id, q.id from r left join q on r.u < q.id and q.u = 3 and r.s < q.s',
  // Subqueries.
  'select id from r where exists (select * from q where q.i = r.i and q.s <> r.s)',
  'select id from r where not exists (select * from q where q.i = r.i and q.s <> r.s)',
  'select id from r where i in (select i from q) order by id',
  'select id from r where i not in (select i from q where b)',
  'select id from r where ni not in (select i from q where u > 3)',
  'select id from r where i not in (select ni from q)',
  'select id, i in (select ni from q) from r',
  'select id, ni in (select i from q where u < 10) from r order by id',
  'select id from r where exists (select * from q where q.i = r.i and q.b) or u = 3',
  'select id from r where exists (select * from q where q.ni = r.ni)',
  'select id from r where not exists (select * from q where q.ni = r.ni and q.u > 2)',
  'select id, (select max(c) from q where q.i = r.i) from r',
  'select id, (select count(*) from q where q.i = r.nu) from r',
  'select id, (select count(*) from q where q.ni = r.ni) from r',
  'select id from r where i > (select min(i) from q)',
  'select id from r where c < (select max(q.c) from q where q.ns = r.ns)',
  'select id, (select s from q order by id limit 1) from r',
  'select id, (select avg(x.u) from r x where x.i = r.i) from r',
  'select id from r where u >= (select median(x.u) from r x where x.ni = r.ni)',
  'select r.id, q.id from r, q where r.i = q.i and q.b and r.u >= (select max(x.u) from r x where x.i = q.i)',
  'select r.id, q.id from r, q where r.i = q.i and r.u * 40 > (select sum(x.u) from r x where x.i = q.i)',
  'select r.id, q.id from r, q where r.i = q.i and r.u <= (select min(x.u) from r x where x.i = q.i and x.b)',
  'select r.id, q.id from r, q where r.i = q.i and r.u < (select avg(x.u) from r x where x.u = q.u)',
  // Sets and common table expressions.
  'select i from r union select ni from q',
  'select i, s from r union all select u, s from q',
  'select i from r except select i from q',
  'select ns from r intersect select ns from q',
  'select i from r except all select i from q',
  'with x as materialized (select i, count(*) n from r group by i) select a.i, b.n from x a join x b on a.i = b.i and a.n = b.n',
  'with x as (select * from r where b) select count(*) from x where exists (select * from x y where y.i = x.i and y.b)',
  'describe q',
]

t.test('statements give the rows that DuckDB gives', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const bed = await SqlBed.open(t, [tameRelation(random, 'r', 300), tameRelation(random, 'q', 40)])
  for (const text of STATEMENTS) await bed.same(t, text)
})

t.test('of a thousand relations those are looked at that a statement names', async (t) => {
  const statements = new Statements()
  t.teardown(() => statements.close())
  const columns = [{ name: 'a', type: 'u32', nullable: false }] as const
  const names = [...Array.from({ length: 1000 }, (_, i) => `t${i}_`), 'a "quoted" one', 'Twice', 'twice']
  const relations = names.map((name) => ({ name, columns }))
  const looked: string[] = []
  const plan = (text: string) => {
    const rowsOf = ({ name }: { name: string }) => looked.push(name)
    return statements.queryOf({ text, parameters: [] }, catalogueOf(text, relations, rowsOf))
  }
  for (const text of [
    'select a from T7_',
    'select x.a from t7_ x, t8_',
    'from "a ""quoted"" one"',
    'from t7_',
  ])
    await plan(text)
  t.same(looked, ['t7_', 't7_', 't8_', 'a "quoted" one', 't7_'])
  t.match(await plan('select 1'), { explain: false }, 'one that names none has one none the less')
  await t.rejects(plan('from t7'), { message: /does not exist!\nthe relations are t0_, t1_, .*, …\n/ })
  await t.rejects(plan('from twice'), { message: /\nTwice and twice differ in capitals only, / })
})

t.test('a subquery over rows that are joined around it joins none itself', async (t) => {
  const statements = new Statements()
  t.teardown(() => statements.close())
  const columns = ['a', 'b', 'c'].map((name) => ({ name, type: 'u32', nullable: name === 'c' }) as const)
  const relations = ['part', 'item'].map((name) => ({ name, columns }))
  const scans = async (aggregate: string, where = 'x.a = part.a') => {
    const text = `select * from part, item where part.a = item.a and part.b = 7 and item.b < (select ${aggregate} from item x where ${where})`
    const { query } = await statements.queryOf(
      { text, parameters: [] },
      catalogueOf(text, relations, () => 9),
    )
    return new Set(JSON.stringify(query).match(/"as":"\w+"/g)).size
  }
  for (const aggregate of ['avg(b)', '2 * max(b)', 'median(a) + min(c)', 'count(distinct b)'])
    t.equal(await scans(aggregate), 2, aggregate)
  t.equal(await scans('sum(b)'), 3, 'a sum has each row once')
  t.equal(await scans('avg(b)', 'x.a = part.a and x.b > 3'), 3, 'other rows')
  t.equal(await scans('avg(b)', 'x.b = part.a'), 3, 'joined by another column')
  t.equal(await scans('avg(b)', 'x.c = item.c'), 3, 'by what may be null')
})
