import t from 'tap'
import type { Expression, QueryNode } from '../../../protocol/query/tree.js'
import { Random, seedOfRun } from '../../random.js'
import { QueryBed } from './query-bed.js'
import { randomRelation } from './relations.js'

const ROWS = 700
const QUESTIONS = 24

const COMPARISONS = ['=', '<>', '<', '<=', '>', '>='] as const
const STRINGS = ['', 'a', 'ab', 'b', 'PROMO blue', 'ECONOMY red', 'é', '\u{1f600}', 'nowhere']
/** Parts of strings, with the names of the predicates in the tree and in SQL. */
const MATCHES = [
  ['startsWith', 'starts_with'],
  ['endsWith', 'suffix'],
  ['contains', 'contains'],
] as const
const PARTS = ['', 'a', 'P', 'PROMO', 'red', 'O ', 'é', 'nowhere']

/** A condition and what it is in SQL. */
interface Question {
  readonly condition: Expression
  readonly sql: string
}

/** Constants that columns of a type are compared with, some of which they have, each with what it is in SQL. */
const CONSTANTS: Readonly<Record<string, (random: Random) => { value: number | string; sql: string }>> = {
  u: (random) => plain(random.below(22)),
  i: (random) => plain(random.below(24) - 12),
  f: (random) => plain((random.below(40) - 20) / 4),
  ul: (random) => plain(random.below(21) * 2 ** 30),
  il: (random) => plain((random.below(24) - 12) * 2 ** 31),
  s: (random) => {
    const value = random.pick(STRINGS)
    return { value, sql: `'${value}'` }
  },
}

function plain(value: number) {
  return { value, sql: String(value) }
}

/** Makes conditions of all kinds over `randomRelation`. */
class Questions {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** @param depth of `and`, `or` and `not` at most */
  any(depth: number): Question {
    const random = this.#random
    if (depth === 0 || random.chance(0.2)) return this.#leaf()
    if (random.chance(0.2)) {
      const { condition, sql } = this.any(depth - 1)
      return { condition: { op: 'not', args: [condition] }, sql: `not (${sql})` }
    }
    const op = random.chance(0.7) ? 'and' : 'or'
    const parts = Array.from({ length: 2 + random.below(3) }, () => this.any(depth - 1))
    return {
      condition: { op, args: parts.map(({ condition }) => condition) },
      sql: parts.map(({ sql }) => `(${sql})`).join(` ${op} `),
    }
  }

  #leaf(): Question {
    const random = this.#random
    const type = random.pick(Object.keys(CONSTANTS))
    const name = random.chance(0.5) ? `n${type}` : type
    const column = { column: name }
    const kind = random.below(type === 's' ? 7 : 5)
    if (kind === 0) return this.#null(`n${type}`)
    if (kind === 1) return this.#in(name, type)
    if (kind === 2) return this.#between(name, type)
    if (kind === 3 && random.chance(0.3)) {
      const op = random.pick(COMPARISONS)
      return { condition: { op, args: [column, { column: type }] }, sql: `${name} ${op} ${type}` }
    }
    if (kind <= 4) return this.#compared(name, type)
    const [op, predicate] = random.pick(MATCHES)
    const text = random.pick(PARTS)
    return { condition: { op, args: [column], text }, sql: `${predicate}(${name}, '${text}')` }
  }

  #null(name: string): Question {
    const condition: Expression = { op: 'isNull', args: [{ column: name }] }
    if (this.#random.chance(0.3)) return { condition, sql: `${name} is null` }
    return { condition: { op: 'not', args: [condition] }, sql: `${name} is not null` }
  }

  #compared(name: string, type: string, op = this.#random.pick(COMPARISONS)): Question {
    const { value, sql } = CONSTANTS[type]!(this.#random)
    return { condition: { op, args: [{ column: name }, { value }] }, sql: `${name} ${op} ${sql}` }
  }

  #between(name: string, type: string): Question {
    const [low, high] = [this.#compared(name, type, '>='), this.#compared(name, type, '<=')]
    return {
      condition: { op: 'and', args: [low.condition, high.condition] },
      sql: `${low.sql} and ${high.sql}`,
    }
  }

  #in(name: string, type: string): Question {
    const values = Array.from({ length: 1 + this.#random.below(8) }, () => CONSTANTS[type]!(this.#random))
    return {
      condition: { op: 'in', args: [{ column: name }, ...values.map(({ value }) => ({ value }))] },
      sql: `${name} in (${values.map(({ sql }) => sql).join(', ')})`,
    }
  }
}

t.test('random conditions select what they select in SQL', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const bed = await QueryBed.open(t, [randomRelation(random, 'r', ROWS), randomRelation(random, 'none', 0)])
  const questions = new Questions(random)
  for (let i = 0; i < QUESTIONS; i++) {
    const { condition, sql } = questions.any(1 + (i % 3))
    const where = (relation: string): QueryNode => ({
      op: 'where',
      input: { op: 'scan', relation },
      condition,
    })
    await bed.same(t, sql, where('r'), `select * from r where ${sql}`)
    if (i % 12 > 0) continue
    await bed.same(t, `${sql}, of nothing`, where('none'), `select * from none where ${sql}`)
    const counted: QueryNode = {
      op: 'groupBy',
      input: where('r'),
      keys: [],
      aggregates: [{ name: 'n', function: 'count' }],
    }
    await bed.same(t, `${sql}, counted`, counted, `select count(*) from r where ${sql}`)
  }
})
