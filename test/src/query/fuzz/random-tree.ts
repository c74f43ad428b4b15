import { LIMITS } from '../../../../protocol/limits.js'
import {
  JOIN_ALGORITHMS,
  JOIN_KINDS,
  type JoinKind,
  type QueryNode,
  SET_OPERATORS,
} from '../../../../protocol/query/tree.js'
import type { Random } from '../../../random.js'
import type { HostRelation } from '../host-relation.js'
import { SQL_JOINS } from '../sql-joins.js'
import { byKeySql } from './by-key-sql.js'
import {
  columnValue,
  type FuzzColumn,
  type FuzzExpression,
  type FuzzValue,
  quoted,
  RandomExpressions,
} from './random-expression.js'

/** A tree of operators, and the same in SQL. */
export interface FuzzTree {
  readonly tree: QueryNode
  readonly sql: string
  readonly columns: readonly FuzzColumn[]
  /** Rows, at most. */
  readonly most: number
  /** What its root takes, or near to it. */
  readonly inputs: readonly FuzzTree[]
}

/** A tree whose rows are in an order, if `ordered`. */
export interface FuzzQuery extends FuzzTree {
  readonly ordered: boolean
}

/** Rows that a product may give at most, and a join if all pairs matched: more would take long to compare. */
const MOST_ROWS = 20_000
const MOST_PAIRS = 100_000

/** Makes random trees over relations. */
export class RandomTrees {
  readonly #random: Random
  readonly #relations: readonly HostRelation[]
  /** What was made last. */
  #last: FuzzTree | undefined
  #names = 0

  constructor(random: Random, relations: readonly HostRelation[]) {
    this.#random = random
    this.#relations = relations
  }

  /** A query of up to so many levels of operators. */
  query(depth: number): FuzzQuery {
    const tree = this.#tree(depth)
    const sortable = this.#random.chance(0.3) ? this.#exactOf(tree) : undefined
    if (sortable === undefined) return { ...tree, ordered: false }
    return { ...this.#ordered(sortable), ordered: true }
  }

  #tree(depth: number): FuzzTree {
    if (depth === 0) return this.#scan()
    const random = this.#random
    const input = () => this.#tree(depth - 1)
    const other = () => {
      const isAgain = this.#last !== undefined && random.chance(0.1)
      return isAgain ? this.#again(this.#last!) : this.#tree(random.below(depth))
    }
    const makers = [
      () => this.#where(input()),
      () => this.#where(input()),
      () => this.#project(input()),
      () => this.#project(input()),
      () => this.#join(input(), other()),
      () => this.#join(input(), other()),
      () => this.#join(other(), input()),
      () => this.#product(input(), other()),
      () => this.#set(input(), other()),
      () => this.#set(input(), other()),
      () => this.#setByKey(input(), other()),
      () => this.#distinct(input()),
      () => this.#group(input()),
      () => this.#group(input()),
      () => this.#limited(input()),
      () => this.#countOfSome(input()),
    ]
    this.#last = random.pick(makers)()
    return this.#last
  }

  /** The same once more, by other names. */
  #again(tree: FuzzTree): FuzzTree {
    const { columns } = tree
    return this.#select(
      tree,
      columns.map(columnValue),
      columns.map(() => this.#name('a')),
    )
  }

  #name(prefix: string): string {
    return `${prefix}${this.#names++}`
  }

  #scan(): FuzzTree {
    const { name: relation, columns: all, rows } = this.#random.pick(this.#relations)
    const as = this.#name('t')
    const columns = all.map(({ name, type, nullable }): FuzzColumn => {
      const small = type === 'u32' || type === 'i32'
      return { name: `${as}.${name}`, type, nullable, exact: true, small }
    })
    const list = all.map(({ name }) => `${quoted(name)} as ${quoted(`${as}.${name}`)}`)
    const scan: FuzzTree = {
      tree: { op: 'scan', relation, as },
      sql: `select ${list.join(', ')} from ${quoted(relation)}`,
      columns,
      most: rows,
      inputs: [],
    }
    const some = this.#some(columns, 1 + this.#random.below(7))
    return this.#random.chance(0.2)
      ? scan
      : this.#select(
          scan,
          some.map(columnValue),
          some.map(({ name }) => name),
        )
  }

  #where(input: FuzzTree): FuzzTree {
    const { expression, sql } = this.#expressions(input).condition()
    return {
      ...input,
      inputs: [input],
      tree: { op: 'where', input: input.tree, condition: expression },
      sql: `select * from (${input.sql}) where ${sql}`,
    }
  }

  #project(input: FuzzTree): FuzzTree {
    const expressions = this.#expressions(input)
    const kept = this.#some(input.columns, this.#random.below(5))
    const computed = Array.from({ length: 1 + this.#random.below(4) }, () => expressions.value())
    const names = [...kept.map(({ name }) => name), ...computed.map(() => this.#name('e'))]
    return this.#select(input, [...kept.map(columnValue), ...computed], names)
  }

  #select(input: FuzzTree, values: readonly FuzzValue[], names: readonly string[]): FuzzTree {
    const columns = values.map(({ expression }, i) => ({ name: names[i]!, value: expression }))
    const list = values.map(({ sql }, i) => `${sql} as ${quoted(names[i]!)}`)
    return {
      tree: { op: 'project', input: input.tree, columns },
      sql: `select ${list.join(', ')} from (${input.sql})`,
      columns: values.map(({ type, nullable, exact, small }, i) => {
        return { name: names[i]!, type, nullable, exact, small }
      }),
      most: input.most,
      inputs: [input],
    }
  }

  #join(left: FuzzTree, right: FuzzTree): FuzzTree {
    const random = this.#random
    const pairs = left.columns.flatMap((l) =>
      right.columns.flatMap((r) => (l.exact && r.exact && l.type === r.type ? [[l, r] as const] : [])),
    )
    if (pairs.length === 0) return this.#product(left, right)
    const isLarge = left.most * right.most + left.most + right.most > MOST_PAIRS
    const kind = isLarge ? random.pick(['semi', 'anti'] as const) : random.pick(JOIN_KINDS)
    const bands = pairs.filter(([{ type }]) => type === 'u32' || type === 'i32')
    const isBand = bands.length > 0 && random.chance(0.15)
    const algorithm = random.chance(0.4)
      ? random.pick(JOIN_ALGORITHMS.filter((each) => !isBand || each !== 'hj'))
      : 'auto'
    const matching = isBand ? this.#band(random.pick(bands)) : this.#equality(pairs)
    const further = random.chance(0.3) ? this.#further(left, right) : undefined
    const condition = { ...matching.condition, condition: further?.expression }
    const sql = further === undefined ? matching.sql : `${matching.sql} and ${further.sql}`
    if (random.chance(0.1)) return this.#mark(left, right, condition, sql)
    const rows = (at: readonly JoinKind[], columns: readonly FuzzColumn[]) =>
      at.includes(kind) ? columns.map((column) => ({ ...column, nullable: true })) : columns
    const isHalf = kind === 'semi' || kind === 'anti'
    return {
      tree: { op: 'join', left: left.tree, right: right.tree, kind, algorithm, ...condition },
      sql: `select * from (${left.sql}) ${SQL_JOINS[kind]} (${right.sql}) on ${sql}`,
      columns: isHalf
        ? left.columns
        : [...rows(['right', 'full'], left.columns), ...rows(['left', 'full'], right.columns)],
      most: isHalf ? left.most : left.most * right.most + left.most + right.most,
      inputs: [left, right],
    }
  }

  /** A condition on pairs. */
  #further(left: FuzzTree, right: FuzzTree): FuzzExpression {
    return this.#expressions({ ...left, columns: [...left.columns, ...right.columns] }).condition(1)
  }

  /** The left rows, with whether they have a partner. */
  #mark(left: FuzzTree, right: FuzzTree, condition: object, sql: string): FuzzTree {
    const as = this.#name('m')
    return {
      tree: { op: 'join', left: left.tree, right: right.tree, kind: 'mark', as, ...condition },
      sql: `select *, exists (select 1 from (${right.sql}) where ${sql}) as ${quoted(as)} from (${left.sql})`,
      columns: [...left.columns, { name: as, type: 'boolean', nullable: false, exact: true, small: false }],
      most: left.most,
      inputs: [left, right],
    }
  }

  #band([l, r]: readonly [FuzzColumn, FuzzColumn]) {
    const width = this.#random.pick([0, 1, 3, 2 ** 32 - 1])
    return {
      condition: { band: { left: l.name, right: r.name, width } },
      sql: `${quoted(r.name)} between ${quoted(l.name)} and ${quoted(l.name)}::bigint + ${width}`,
    }
  }

  #equality(pairs: readonly (readonly [FuzzColumn, FuzzColumn])[]) {
    const chosen = Array.from({ length: 1 + this.#random.below(3) }, () => this.#random.pick(pairs))
    return {
      condition: { on: chosen.map(([l, r]) => [l.name, r.name] as const) },
      sql: chosen.map(([l, r]) => `${quoted(l.name)} = ${quoted(r.name)}`).join(' and '),
    }
  }

  #product(left: FuzzTree, right: FuzzTree): FuzzTree {
    if (left.most * right.most > MOST_ROWS) return left.most < right.most ? left : right
    return {
      tree: { op: 'product', left: left.tree, right: right.tree },
      sql: `select * from (${left.sql}), (${right.sql})`,
      columns: [...left.columns, ...right.columns],
      most: left.most * right.most,
      inputs: [left, right],
    }
  }

  /** Both sides with columns of the same types, under the same names. */
  #alike(left: FuzzTree, right: FuzzTree, isRight: (l: FuzzColumn, r: FuzzColumn) => boolean) {
    const fitting = (l: FuzzColumn) =>
      right.columns.filter((r) => l.exact && r.exact && l.type === r.type && isRight(l, r))
    const chosen = this.#some(
      left.columns.filter((l) => fitting(l).length > 0),
      1 + this.#random.below(4),
    )
    if (chosen.length === 0) return undefined
    const names = chosen.map(() => this.#name('s'))
    const others = chosen.map((l) => columnValue(this.#random.pick(fitting(l))))
    return {
      left: this.#select(left, chosen.map(columnValue), names),
      right: this.#select(right, others, names),
    }
  }

  #set(one: FuzzTree, another: FuzzTree): FuzzTree {
    const random = this.#random
    // Sides that have many rows in common.
    const sides = this.#alike(one, random.chance(0.5) ? this.#where(one) : another, () => true)
    if (sides === undefined) return one
    const { left, right } = random.chance(0.5) ? sides : { left: sides.right, right: sides.left }
    const op = random.pick(SET_OPERATORS)
    const all = random.chance(0.5)
    const columns = left.columns.map((column, i) => {
      const other = right.columns[i]!
      const nullable = column.nullable || (op === 'union' && other.nullable)
      return { ...column, nullable, small: column.small && other.small }
    })
    return {
      tree: { op, left: left.tree, right: right.tree, all },
      sql: `select * from ((${left.sql}) ${op} ${all ? 'all' : ''} (${right.sql}))`,
      columns,
      most: left.most + right.most,
      inputs: [left, right],
    }
  }

  #setByKey(one: FuzzTree, another: FuzzTree): FuzzTree {
    const sides = this.#alike(one, another, (l, r) => !l.nullable && !r.nullable)
    if (sides === undefined) return one
    const { left, right } = sides
    const op = this.#random.pick(SET_OPERATORS)
    const byKey = this.#some(left.columns, 1 + this.#random.below(2)).map(({ name }) => name)
    return {
      tree: { op, left: left.tree, right: right.tree, byKey },
      sql: byKeySql(op, left.sql, right.sql, byKey),
      columns: left.columns,
      most: left.most + right.most,
      inputs: [left, right],
    }
  }

  #distinct(input: FuzzTree): FuzzTree {
    const exact = this.#exactOf(input)
    if (exact === undefined) return input
    return {
      ...exact,
      inputs: [exact],
      tree: { op: 'distinct', input: exact.tree },
      sql: `select distinct * from (${exact.sql})`,
    }
  }

  #group(input: FuzzTree): FuzzTree {
    const random = this.#random
    const expressions = this.#expressions(input)
    const exact = input.columns.filter((column) => column.exact)
    const keys = this.#some(exact, random.below(4)).map(columnValue)
    if (random.chance(0.2))
      keys.push({ ...expressions.condition(1), type: 'boolean', nullable: true, exact: true, small: false })
    const wanted = Array.from({ length: 1 + random.below(4) }, () => expressions.aggregate())
    const aggregates = wanted.flatMap((aggregate) => (aggregate === undefined ? [] : [aggregate]))
    if (aggregates.length === 0) return this.#distinct(input)
    const keyNames = keys.map(() => this.#name('k'))
    const names = aggregates.map(() => this.#name('a'))
    const list = [
      ...keys.map(({ sql }, i) => `${sql} as ${quoted(keyNames[i]!)}`),
      ...aggregates.map(({ sql }, i) => `${sql} as ${quoted(names[i]!)}`),
    ]
    const by = keys.length === 0 ? '' : ` group by ${keys.map((_, i) => i + 1).join(', ')}`
    return {
      tree: {
        op: 'groupBy',
        input: input.tree,
        keys: keys.map(({ expression }, i) => ({ name: keyNames[i]!, value: expression })),
        aggregates: aggregates.map(({ aggregate }, i) => ({ name: names[i]!, ...aggregate })),
      },
      sql: `select ${list.join(', ')} from (${input.sql})${by}`,
      columns: [
        ...keys.map(({ type, nullable, small }, i) => {
          return { name: keyNames[i]!, type, nullable, exact: true, small }
        }),
        ...aggregates.map(({ type, exact }, i) => {
          return { name: names[i]!, type, nullable: true, exact, small: false }
        }),
      ],
      most: Math.max(1, input.most),
      inputs: [input],
    }
  }

  /** Ordered by all columns, so that only rows which are equal may change places. */
  #ordered(input: FuzzTree): FuzzTree {
    const random = this.#random
    const by = this.#some(input.columns, input.columns.length).map(({ name: column }) => {
      return { column, descending: random.chance(0.5), nulls: random.pick(['first', 'last'] as const) }
    })
    const list = by.map(
      ({ column, descending, nulls }) => `${quoted(column)} ${descending ? 'desc' : 'asc'} nulls ${nulls}`,
    )
    return {
      ...input,
      inputs: [input],
      tree: { op: 'orderBy', input: input.tree, by },
      sql: `select * from (${input.sql}) order by ${list.join(', ')}`,
    }
  }

  #limited(input: FuzzTree): FuzzTree {
    const exact = this.#exactOf(input)
    if (exact === undefined) return input
    const { rows, offset } = this.#part(exact.most)
    const ordered = this.#ordered(exact)
    const { tree, sql, columns } = ordered
    return {
      tree: { op: 'limit', input: tree, rows, offset },
      sql: `${sql} limit ${rows} offset ${offset}`,
      columns,
      most: Math.min(exact.most, rows),
      inputs: [ordered],
    }
  }

  /** How many rows a limit leaves of rows in any order. */
  #countOfSome(input: FuzzTree): FuzzTree {
    const { rows, offset } = this.#part(input.most)
    const name = this.#name('n')
    const aggregates = [{ name, function: 'count' } as const]
    return {
      tree: { op: 'groupBy', input: { op: 'limit', input: input.tree, rows, offset }, keys: [], aggregates },
      sql: `select count(*)::uinteger as ${quoted(name)} from (select * from (${input.sql}) limit ${rows} offset ${offset})`,
      columns: [{ name, type: 'u32', nullable: false, exact: true, small: true }],
      most: 1,
      inputs: [input],
    }
  }

  /** A part of so many rows. */
  #part(most: number): { readonly rows: number; readonly offset: number } {
    const random = this.#random
    return { rows: random.below(most + 2), offset: random.chance(0.5) ? 0 : random.below(most + 2) }
  }

  /** A tree without columns that may not decide anything, and no more than one may sort by. */
  #exactOf(input: FuzzTree): FuzzTree | undefined {
    const exact = input.columns.filter((column) => column.exact).slice(0, LIMITS.queryKeys)
    if (exact.length === input.columns.length) return input
    if (exact.length === 0) return undefined
    return this.#select(
      input,
      exact.map(columnValue),
      exact.map(({ name }) => name),
    )
  }

  /** Up to so many, in any order. */
  #some<T>(all: readonly T[], most: number): T[] {
    const left = [...all]
    const chosen: T[] = []
    while (left.length > 0 && chosen.length < most) {
      chosen.push(...left.splice(this.#random.below(left.length), 1))
    }
    return chosen
  }

  #expressions({ columns }: FuzzTree): RandomExpressions {
    return new RandomExpressions(this.#random, columns)
  }
}
