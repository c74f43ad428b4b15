import type { ColumnType } from '../../../protocol/column-types.js'
import { DuckOracle } from '../../src/query/duck-oracle.js'
import { type HostRelation, hostRelation } from '../../src/query/host-relation.js'

const MONEY = 'decimal(15,2)'

/** The tables of TPC-H (specification, §1.4) and the types of their columns. */
export const TPCH_TABLES: Readonly<Record<string, Readonly<Record<string, ColumnType>>>> = {
  region: { r_regionkey: 'i32', r_name: 'string', r_comment: 'string' },
  nation: { n_nationkey: 'i32', n_name: 'string', n_regionkey: 'i32', n_comment: 'string' },
  supplier: {
    s_suppkey: 'i32',
    s_name: 'string',
    s_address: 'string',
    s_nationkey: 'i32',
    s_phone: 'string',
    s_acctbal: MONEY,
    s_comment: 'string',
  },
  customer: {
    c_custkey: 'i32',
    c_name: 'string',
    c_address: 'string',
    c_nationkey: 'i32',
    c_phone: 'string',
    c_acctbal: MONEY,
    c_mktsegment: 'string',
    c_comment: 'string',
  },
  part: {
    p_partkey: 'i32',
    p_name: 'string',
    p_mfgr: 'string',
    p_brand: 'string',
    p_type: 'string',
    p_size: 'i32',
    p_container: 'string',
    p_retailprice: MONEY,
  },
  partsupp: { ps_partkey: 'i32', ps_suppkey: 'i32', ps_availqty: 'i32', ps_supplycost: MONEY },
  orders: {
    o_orderkey: 'i32',
    o_custkey: 'i32',
    o_orderstatus: 'string',
    o_totalprice: MONEY,
    o_orderdate: 'date',
    o_orderpriority: 'string',
    o_shippriority: 'i32',
    o_comment: 'string',
  },
  lineitem: {
    l_orderkey: 'i32',
    l_partkey: 'i32',
    l_suppkey: 'i32',
    l_linenumber: 'i32',
    l_quantity: MONEY,
    l_extendedprice: MONEY,
    l_discount: MONEY,
    l_tax: MONEY,
    l_returnflag: 'string',
    l_linestatus: 'string',
    l_shipdate: 'date',
    l_commitdate: 'date',
    l_receiptdate: 'date',
    l_shipinstruct: 'string',
    l_shipmode: 'string',
  },
}

const WORDS =
  "['special', 'packages', 'requests', 'Customer', 'Complaints', 'furiously', 'deposits', 'theodolites']"
const COMMENT = (salt: string) =>
  `pick(${WORDS}, k, '${salt}1') || ' ' || pick(${WORDS}, k, '${salt}2') || ' ' || pick(${WORDS}, k, '${salt}3')`
const PHONE = `(10 + below(25, k, 'nation')) || '-' || (100 + below(900, k, 'a')) || '-' || (100 + below(900, k, 'b')) || '-' || (1000 + below(9000, k, 'c'))`
const COLORS =
  "['almond', 'antique', 'azure', 'forest', 'green', 'lavender', 'navy', 'powder', 'red', 'white']"

/** What makes the tables in DuckDB: values are hashes of keys, so that a seed gives the same rows anywhere, in the order in which TPC-H's own generator writes them. */
export function tpchStatements(scale: number, seed: number): readonly string[] {
  const count = (rows: number) => Math.max(1, Math.round(rows * scale))
  const [customers, orders, parts, suppliers] = [150_000, 1_500_000, 200_000, 10_000].map(count)
  const most = Math.max(customers!, orders!, parts!, suppliers!)
  const supplierOf = `1 + (part + i * (${suppliers} // 4 + (part - 1) // ${suppliers})) % ${suppliers}`
  const statements = [
    `create macro below(n, k, salt) as (hash(k, salt, ${seed}) % n::ubigint)::integer`,
    'create macro pick(list, k, salt) as list[1 + below(len(list), k, salt)]',
    // What makes numbers does so on one processor, and what reads them from a table on all.
    `create temp table numbers as from range(${most + 1}) t(k)`,
    `create table region as select k::integer, (['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[k + 1], 'region' from range(5) t(k)`,
    `create table nation as select k::integer, (['ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'EGYPT', 'ETHIOPIA', 'FRANCE', 'GERMANY', 'INDIA', 'INDONESIA', 'IRAN', 'IRAQ', 'JAPAN', 'JORDAN', 'KENYA', 'MOROCCO', 'MOZAMBIQUE', 'PERU', 'CHINA', 'ROMANIA', 'SAUDI ARABIA', 'VIETNAM', 'RUSSIA', 'UNITED KINGDOM', 'UNITED STATES'])[k + 1], ([0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1])[k + 1]::integer, 'nation' from range(25) t(k)`,
    `create table supplier as select k::integer, 'Supplier#' || lpad(k::varchar, 9, '0'), 'address ' || below(1000, k, 'address'), below(25, k, 'nation'), ${PHONE}, ((below(1100000, k, 'balance') - 100000) / 100)::${MONEY}, ${COMMENT('supplier')} from numbers where k between 1 and ${suppliers}`,
    `create table customer as select k::integer, 'Customer#' || lpad(k::varchar, 9, '0'), 'address ' || below(1000, k, 'address'), below(25, k, 'nation'), ${PHONE}, ((below(1100000, k, 'balance') - 100000) / 100)::${MONEY}, pick(['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'], k, 'segment'), ${COMMENT('customer')} from numbers where k between 1 and ${customers}`,
    `create table part as select k::integer, pick(${COLORS}, k, 'one') || ' ' || pick(${COLORS}, k, 'two'), 'Manufacturer#' || (1 + below(5, k, 'maker')), 'Brand#' || (1 + below(5, k, 'maker')) || (1 + below(5, k, 'brand')), pick(['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'], k, 'x') || ' ' || pick(['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'], k, 'y') || ' ' || pick(['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'], k, 'z'), 1 + below(50, k, 'size'), pick(['SM', 'LG', 'MED', 'JUMBO', 'WRAP'], k, 'c') || ' ' || pick(['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'], k, 'd'), ((90000 + (k // 10) % 20001 + 100 * (k % 1000)) / 100)::${MONEY} from numbers where k between 1 and ${parts}`,
    `create table partsupp as select distinct part::integer, (${supplierOf})::integer as supplier, 1 + below(9999, part * 4 + i, 'available'), ((100 + below(99901, part * 4 + i, 'cost')) / 100)::${MONEY} from (select k as part, unnest(range(4)) as i from numbers where k between 1 and ${parts}) order by all`,
    `create table lineitem as select key::integer, part::integer, (${supplierOf})::integer, line::integer, quantity::${MONEY}, (quantity * (90000 + (part // 10) % 20001 + 100 * (part % 1000)) / 100)::${MONEY}, (below(11, k, 'discount') / 100)::${MONEY}, (below(9, k, 'tax') / 100)::${MONEY}, case when received <= date '1995-06-17' then pick(['R', 'A'], k, 'flag') else 'N' end, case when shipped > date '1995-06-17' then 'O' else 'F' end, shipped, ordered + 30 + below(61, k, 'commit'), received, pick(['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'], k, 'instruct'), pick(['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'], k, 'mode') from (select *, shipped + 1 + below(30, k, 'receive') as received from (select *, (o // 8) * 32 + o % 8 + 1 as key, ordered + 1 + below(121, k, 'ship') as shipped, 1 + below(${parts}, k, 'part') as part, below(4, k, 'supplier') as i, 1 + below(50, k, 'quantity') as quantity from (select *, date '1992-01-01' + below(2406, o, 'date') as ordered, o * 8 + line as k from (select k as o, unnest(range(1, 2 + below(7, k, 'lines'))) as line from numbers where k < ${orders}))))`,
    `create table orders as select ((o // 8) * 32 + o % 8 + 1)::integer, (1 + below(${customers} // 3 + 1, o, 'customer') * 3 % ${customers})::integer, pick(['O', 'F', 'P'], o, 'status'), (below(50000000, o, 'price') / 100)::${MONEY}, date '1992-01-01' + below(2406, o, 'date'), pick(['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'], o, 'priority'), 0::integer, ${COMMENT('order').replaceAll(' k,', ' o,')} from (select k as o from numbers where k < ${orders})`,
  ]
  return statements.map((statement) =>
    statement.replace(/^create table (\w+) as/, (head, name: string) => {
      const columns = TPCH_TABLES[name]
      return columns === undefined ? head : `create table ${name} (${Object.keys(columns).join(', ')}) as`
    }),
  )
}

/** The eight relations, with all columns that the 22 questions ask for, by distributions like the specification's. */
export async function generateTables(scale: number, seed: number): Promise<HostRelation[]> {
  const duck = await DuckOracle.open([])
  for (const statement of tpchStatements(scale, seed)) await duck.rows(statement)
  const relations: HostRelation[] = []
  for (const [name, types] of Object.entries(TPCH_TABLES)) {
    const rows = await duck.rows(`select * from ${name}`)
    const columns = Object.entries(types).map(([column, type], i) => ({
      name: column,
      type,
      nullable: false,
      cells: rows.map((row) => row[i]!),
    }))
    relations.push(hostRelation(name, columns))
  }
  duck.close()
  return relations
}
