import type { Random } from '../../random.js'

const NUMBERS = ['i', 'u', 'ni', 'nu', 'id']
const OTHERS = ['s', 'ns', 'd', 'nd', 'c', 'nc', 'b', 'nb']

/** A random SELECT over two tame relations, r and q, that DuckDB answers without a fault, and in which no order decides what rows there are. */
export function randomStatement(random: Random, depth = 2): string {
  const [a, b] = ['r', 'q'] as const
  const where = `where ${condition(random, [a], depth)}`
  switch (random.below(8)) {
    case 0:
      return `select ${columns(random, a)} from ${a} ${where}`
    case 1: {
      const kind = random.pick(['join', 'left join', 'right join', 'full join', 'semi join', 'anti join'])
      const isOneSided = kind.startsWith('semi') || kind.startsWith('anti')
      const key = random.pick(NUMBERS)
      const more = random.chance(0.4)
        ? ` and ${a}.${random.pick(NUMBERS)} < ${b}.${random.pick(NUMBERS)}`
        : ''
      const given = isOneSided ? columns(random, a) : `${columns(random, a)}, ${columns(random, b)}`
      return `select ${given} from ${a} ${kind} ${b} on ${a}.${key} = ${b}.${random.pick(NUMBERS)}${more}`
    }
    case 2: {
      const keys = [random.pick(OTHERS), random.pick(NUMBERS)].slice(0, random.below(3))
      const group = keys.length === 0 ? '' : `group by ${keys.map((key) => `${a}.${key}`).join(', ')}`
      const having = random.chance(0.4) ? `having count(*) > ${random.below(4)}` : ''
      const given = [...keys.map((key) => `${a}.${key}`), aggregate(random, a), aggregate(random, a)]
      return `select ${given.join(', ')} from ${a} ${where} ${group} ${having}`
    }
    case 3: {
      const operator = random.pick(['union', 'union all', 'intersect', 'except', 'except all'])
      const column = random.pick([...NUMBERS.slice(0, 1), ...OTHERS])
      return `select ${column} from ${a} ${where} ${operator} select ${column} from ${b}`
    }
    case 4:
      return `select distinct ${random.pick(OTHERS)}, ${random.pick(NUMBERS)} from ${a} ${where}`
    case 5:
      return `select id, (select ${aggregate(random, b)} from ${b} where ${b}.${random.pick(NUMBERS)} = ${a}.${random.pick(NUMBERS)}) from ${a}`
    case 6: {
      // The subquery goes through rows that are joined already, or nearly so.
      const [key, other] = [random.pick(NUMBERS), random.pick(NUMBERS)]
      const also = random.chance(0.3) ? `and x.${random.pick(NUMBERS)} > 3` : ''
      const value = `(select ${aggregate(random, 'x')} from r x where x.${random.chance(0.8) ? key : 'u'} = q.${other} ${also})`
      return `select r.id, q.id, ${value} from r join q on r.${key} = q.${other} where q.id < 20`
    }
    default:
      return `select id, ${random.pick(OTHERS)} from ${a} ${where} order by ${random.pick(OTHERS)} ${random.pick(['', 'desc', 'nulls first'])}, id limit ${random.below(30)} offset ${random.below(3)}`
  }
}

function columns(random: Random, table: string): string {
  return `${table}.${random.pick(NUMBERS)}, ${table}.${random.pick(OTHERS)}, ${number(random, table)}`
}

function number(random: Random, table: string): string {
  const column = `${table}.${random.pick(NUMBERS)}`
  return random.pick([
    column,
    `${column}::bigint * 3 - ${table}.i`,
    `coalesce(${column}, 7)`,
    `case when ${table}.b then ${column} else ${table}.i end`,
  ])
}

function aggregate(random: Random, table: string): string {
  const column = `${table}.${random.pick(NUMBERS)}`
  return random.pick([
    'count(*)',
    `sum(${column})`,
    `avg(${column})`,
    `max(${table}.${random.pick(OTHERS)})`,
    `count(${column})`,
    `min(${column})`,
  ])
}

function condition(random: Random, [table = '']: readonly string[], depth: number): string {
  if (depth > 0 && random.chance(0.5)) {
    const sides = [condition(random, [table], depth - 1), condition(random, [table], depth - 1)]
    return random.chance(0.2) ? `not (${sides[0]})` : `(${sides.join(random.pick([' and ', ' or ']))})`
  }
  const column = `${table}.${random.pick(NUMBERS)}`
  return random.pick([
    `${column} ${random.pick(['=', '<>', '<', '>='])} ${random.below(20) - 8}`,
    `${column} between ${random.below(5)} and ${5 + random.below(9)}`,
    `${column} in (1, 3, ${random.below(9)})`,
    `${column} ${random.pick(['in', 'not in'])} (select ${random.pick(NUMBERS)} from q where q.u > ${random.below(20)})`,
    `${random.pick(['', 'not '])}exists (select 1 from q where q.${random.pick(NUMBERS)} = ${column})`,
    `${table}.ns is null`,
    `${table}.s like '${random.pick(['PROMO%', '%red', 'a_', '%'])}'`,
    `${table}.d < date '1994-01-01' + interval ${random.below(40)} month`,
    `${table}.c > ${random.below(20) - 10}.5`,
    `${table}.nb`,
  ])
}
