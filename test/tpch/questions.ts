import { and, avg, col, count, descending, type Query, relation, sum, when } from '../../clients/sdk/index.js'
import { constant } from '../../clients/sdk/query/value.js'
import { day } from './generator.js'

/** A question of TPC-H as a tree of operators and as SQL, over the same relations. */
export interface Question {
  readonly name: string
  readonly query: Query
  readonly sql: string
  readonly ordered: boolean
}

/** What a customer pays, in hundredths of a cent. */
const REVENUE = col('l_extendedprice').times(constant(100).minus(col('l_discount')))

const Q1: Question = {
  name: 'Q1: pricing summary report',
  query: relation('lineitem')
    .where(col('l_shipdate').le(day('1998-12-01') - 90))
    .groupBy(['l_returnflag', 'l_linestatus'], {
      sum_qty: sum('l_quantity'),
      sum_base_price: sum('l_extendedprice'),
      sum_disc_price: sum(REVENUE),
      sum_charge: sum(REVENUE.times(col('l_tax').plus(100))),
      avg_qty: avg('l_quantity'),
      avg_price: avg('l_extendedprice'),
      avg_disc: avg('l_discount'),
      count_order: count(),
    })
    .orderBy('l_returnflag', 'l_linestatus'),
  sql: `select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (100 - l_discount)),
      sum(l_extendedprice * (100 - l_discount) * (100 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
    from lineitem where l_shipdate <= ${day('1998-12-01') - 90}
    group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus`,
  ordered: true,
}

const Q3: Question = {
  name: 'Q3: shipping priority',
  query: relation('customer')
    .where(col('c_mktsegment').eq('BUILDING'))
    .join(relation('orders').where(col('o_orderdate').lt(day('1995-03-15'))), {
      on: [['c_custkey', 'o_custkey']],
    })
    .join(relation('lineitem').where(col('l_shipdate').gt(day('1995-03-15'))), {
      on: [['o_orderkey', 'l_orderkey']],
    })
    .groupBy(['l_orderkey', 'o_orderdate', 'o_shippriority'], { revenue: sum(REVENUE) })
    .orderBy(descending('revenue'), 'o_orderdate', 'l_orderkey')
    .limit(10),
  sql: `select l_orderkey, o_orderdate, o_shippriority, sum(l_extendedprice * (100 - l_discount)) revenue
    from customer join orders on c_custkey = o_custkey join lineitem on l_orderkey = o_orderkey
    where c_mktsegment = 'BUILDING' and o_orderdate < ${day('1995-03-15')} and l_shipdate > ${day('1995-03-15')}
    group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate, l_orderkey limit 10`,
  ordered: true,
}

const Q4: Question = {
  name: 'Q4: order priority checking',
  query: relation('orders')
    .where(and(col('o_orderdate').ge(day('1993-07-01')), col('o_orderdate').lt(day('1993-10-01'))))
    .join(relation('lineitem').where(col('l_commitdate').lt(col('l_receiptdate'))), {
      on: [['o_orderkey', 'l_orderkey']],
      kind: 'semi',
    })
    .groupBy(['o_orderpriority'], { order_count: count() })
    .orderBy('o_orderpriority'),
  sql: `select o_orderpriority, count(*) from orders
    where o_orderdate >= ${day('1993-07-01')} and o_orderdate < ${day('1993-10-01')}
      and exists (select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate)
    group by o_orderpriority order by o_orderpriority`,
  ordered: true,
}

const Q6: Question = {
  name: 'Q6: forecasting revenue change',
  query: relation('lineitem')
    .where(
      and(
        col('l_shipdate').ge(day('1994-01-01')),
        col('l_shipdate').lt(day('1995-01-01')),
        col('l_discount').between(5, 7),
        col('l_quantity').lt(24),
      ),
    )
    .groupBy([], { revenue: sum(col('l_extendedprice').times(col('l_discount'))) }),
  sql: `select sum(l_extendedprice * l_discount) from lineitem
    where l_shipdate >= ${day('1994-01-01')} and l_shipdate < ${day('1995-01-01')}
      and l_discount between 5 and 7 and l_quantity < 24`,
  ordered: false,
}

const URGENT = col('o_orderpriority').in(['1-URGENT', '2-HIGH'])

const Q12: Question = {
  name: 'Q12: shipping modes and order priority',
  query: relation('lineitem')
    .where(
      and(
        col('l_shipmode').in(['MAIL', 'SHIP']),
        col('l_commitdate').lt(col('l_receiptdate')),
        col('l_shipdate').lt(col('l_commitdate')),
        col('l_receiptdate').ge(day('1994-01-01')),
        col('l_receiptdate').lt(day('1995-01-01')),
      ),
    )
    .join(relation('orders'), { on: [['l_orderkey', 'o_orderkey']] })
    .groupBy(['l_shipmode'], {
      high_line_count: sum(when([[URGENT, 1]], 0)),
      low_line_count: sum(when([[URGENT, 0]], 1)),
    })
    .orderBy('l_shipmode'),
  sql: `select l_shipmode, sum(case when o_orderpriority in ('1-URGENT', '2-HIGH') then 1 else 0 end),
      sum(case when o_orderpriority in ('1-URGENT', '2-HIGH') then 0 else 1 end)
    from orders join lineitem on o_orderkey = l_orderkey
    where l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate
      and l_receiptdate >= ${day('1994-01-01')} and l_receiptdate < ${day('1995-01-01')}
    group by l_shipmode order by l_shipmode`,
  ordered: true,
}

const Q14: Question = {
  name: 'Q14: promotion effect',
  query: relation('lineitem')
    .where(and(col('l_shipdate').ge(day('1995-09-01')), col('l_shipdate').lt(day('1995-10-01'))))
    .join(relation('part'), { on: [['l_partkey', 'p_partkey']] })
    .groupBy([], {
      promo: sum(when([[col('p_type').startsWith('PROMO'), REVENUE]], 0)),
      revenue: sum(REVENUE),
    })
    .select({ promo_revenue: col('promo').times(100).over(col('revenue')) }),
  sql: `select 100.0 * sum(case when p_type like 'PROMO%' then l_extendedprice * (100 - l_discount) else 0 end)
      / sum(l_extendedprice * (100 - l_discount))
    from lineitem join part on l_partkey = p_partkey
    where l_shipdate >= ${day('1995-09-01')} and l_shipdate < ${day('1995-10-01')}`,
  ordered: false,
}

/** Q5: one relation of facts, four around it, and a fifth behind those. */
const STAR: Question = {
  name: 'Q5: local supplier volume (a star join)',
  query: relation('lineitem')
    .join(
      relation('orders').where(
        and(col('o_orderdate').ge(day('1994-01-01')), col('o_orderdate').lt(day('1995-01-01'))),
      ),
      { on: [['l_orderkey', 'o_orderkey']] },
    )
    .join(relation('customer'), { on: [['o_custkey', 'c_custkey']] })
    .join(relation('supplier'), {
      on: [
        ['l_suppkey', 's_suppkey'],
        ['c_nationkey', 's_nationkey'],
      ],
    })
    .join(relation('nation'), { on: [['s_nationkey', 'n_nationkey']] })
    .join(relation('region').where(col('r_name').eq('ASIA')), { on: [['n_regionkey', 'r_regionkey']] })
    .groupBy(['n_name'], { revenue: sum(REVENUE) })
    .orderBy(descending('revenue'), 'n_name'),
  sql: `select n_name, sum(l_extendedprice * (100 - l_discount)) revenue
    from customer join orders on c_custkey = o_custkey join lineitem on l_orderkey = o_orderkey
      join supplier on l_suppkey = s_suppkey and c_nationkey = s_nationkey
      join nation on s_nationkey = n_nationkey join region on n_regionkey = r_regionkey
    where r_name = 'ASIA' and o_orderdate >= ${day('1994-01-01')} and o_orderdate < ${day('1995-01-01')}
    group by n_name order by revenue desc, n_name`,
  ordered: true,
}

export const QUESTIONS: readonly Question[] = [Q1, Q3, Q4, Q6, Q12, Q14, STAR]
