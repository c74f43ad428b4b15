import type { ColumnType } from '../../../../protocol/column-types.js'
import type {
  AggregateFunction,
  ComparisonOp,
  Expression,
  MatchKind,
} from '../../../../protocol/query/tree.js'
import { COMPARISONS } from '../../../../protocol/query/tree.js'
import type { Random } from '../../../random.js'
import { randomCell } from '../relations.js'

/** A column of a random tree. */
export interface FuzzColumn {
  readonly name: string
  readonly type: ColumnType
  readonly nullable: boolean
  /** Whether no float in it was computed, so that both sides have the same one. */
  readonly exact: boolean
  /** Whether it is of 32-bit integers that stand in a relation, so that sums and products of few of them fit 64 bits. */
  readonly small: boolean
}

/** An expression, and what it is in SQL. */
export interface FuzzExpression {
  readonly expression: Expression
  readonly sql: string
}

/** What a column is computed by. */
export type FuzzValue = FuzzExpression & Omit<FuzzColumn, 'name'>

const TEXTS = ['', 'a', 'ab', 'b', 'O r', 'PROMO', 'red', 'é', '\u{1f600}'] as const
const PATTERNS = ['', '%', '_', '__', 'a%', '%b', '%O_r%', 'P%e%', '%_r%d', '_\u{1f600}%', 'é'] as const
const SQL_MATCHES: Readonly<Record<Exclude<MatchKind, 'like'>, string>> = {
  startsWith: 'starts_with',
  endsWith: 'suffix',
  contains: 'contains',
}
const SQL_TYPES: Readonly<Partial<Record<ColumnType, string>>> = {
  u32: 'uinteger',
  i32: 'integer',
  f32: 'float',
  f64: 'double',
  u64: 'ubigint',
  i64: 'bigint',
  i128: 'hugeint',
  string: 'varchar',
  boolean: 'boolean',
}

/** What DuckDB calls a type; most it calls as we do. */
function sqlTypeOf(type: ColumnType): string {
  return SQL_TYPES[type] ?? type
}

export function quoted(name: string): string {
  return `"${name}"`
}

/** Random expressions over columns. */
export class RandomExpressions {
  readonly #random: Random
  readonly #columns: readonly FuzzColumn[]
  /** Those that may decide something. */
  readonly #exact: readonly FuzzColumn[]

  constructor(random: Random, columns: readonly FuzzColumn[]) {
    this.#random = random
    this.#columns = columns
    this.#exact = columns.filter(({ exact }) => exact)
  }

  condition(depth = 2): FuzzExpression {
    const random = this.#random
    if (depth > 0 && random.chance(0.5)) {
      const [one, other] = [this.condition(depth - 1), this.condition(depth - 1)]
      if (random.chance(0.2))
        return { expression: { op: 'not', args: [one.expression] }, sql: `not (${one.sql})` }
      const op = random.pick(['and', 'or'] as const)
      return {
        expression: { op, args: [one.expression, other.expression] },
        sql: `((${one.sql}) ${op} (${other.sql}))`,
      }
    }
    const column = this.#exact.length === 0 ? undefined : random.pick(this.#exact)
    if (column === undefined || random.chance(0.03)) {
      const value = random.pick([true, false, null])
      // A null by itself is of integers, which a column made of it would be then.
      const expression: Expression = value === null ? { op: 'not', args: [{ value }] } : { value }
      return { expression, sql: `${value}::boolean` }
    }
    if (random.chance(0.15)) {
      return { expression: { op: 'isNull', args: [columnOf(column)] }, sql: `${quoted(column.name)} is null` }
    }
    if (column.type === 'boolean') return { expression: columnOf(column), sql: quoted(column.name) }
    if (column.type === 'string' && random.chance(0.4)) return this.#match(column)
    return random.chance(0.2) ? this.#membership(column) : this.#comparison(column)
  }

  value(): FuzzValue {
    const random = this.#random
    const makers = [
      () => this.#copy(),
      () => this.#integers(),
      () => this.#floats(),
      () => this.#quotient(),
      () => this.#rounded(),
      () => this.#coalesced(),
      () => this.#choice(),
      () => this.#choice(),
      () => this.#cast(),
      () => this.#truth(),
      () => this.#text(),
      () => this.#textCast(),
      () => this.#date(),
    ]
    return random.pick(makers)() ?? this.#copy()
  }

  /** A function of a string. */
  #text(): FuzzValue | undefined {
    const column = this.#pick(({ exact, type }) => exact && type === 'string')
    if (column === undefined) return undefined
    const name = quoted(column.name)
    const { type, nullable } = column
    const places = [this.#random.below(7) - 3, this.#random.below(4)] as const
    const [op, constants, sql] = this.#random.pick([
      ['upper', [], `upper(${name})`],
      ['lower', [], `lower(${name})`],
      ['length', [], `length(${name})`],
      ['substring', places, `substring(${name}, ${places})`],
      ['||', ['x'], `${name} || 'x'`],
    ] as const)
    const args = [columnOf(column), ...constants.map((value) => ({ value }))]
    const isNumber = op === 'length'
    return {
      expression: { op, args },
      sql,
      type: isNumber ? 'i64' : type,
      nullable,
      exact: true,
      small: false,
    }
  }

  /** What is no string, as one. Zeros among floats may have lost their sign. */
  #textCast(): FuzzValue | undefined {
    const column = this.#pick(({ exact, type }) => exact && type !== 'f32' && type !== 'f64')
    if (column === undefined) return undefined
    const { name, nullable } = column
    const sql = `${quoted(name)}::varchar`
    const expression: Expression = { op: 'cast', args: [columnOf(column)], type: 'string' }
    return { expression, sql, type: 'string', nullable, exact: true, small: false }
  }

  /** A part of a date or timestamp, or one that is moved. */
  #date(): FuzzValue | undefined {
    const column = this.#pick(({ type }) => type === 'date' || type === 'timestamp')
    if (column === undefined) return undefined
    const name = quoted(column.name)
    const { type, nullable } = column
    const [value, months] = [columnOf(column), this.#random.below(41) - 20]
    const moved = `(${name} + to_months(${months}))::${type}`
    const [expression, sql, result] = this.#random.pick([
      [{ op: 'year', args: [value] }, `year(${name})`, 'i64'],
      [{ op: 'dayOfWeek', args: [value] }, `dayofweek(${name})`, 'i64'],
      [{ op: 'dateTrunc', args: [{ value: 'month' }, value] }, `date_trunc('month', ${name})`, 'timestamp'],
      [{ op: 'addMonths', args: [value, { value: months }] }, moved, type],
      [{ op: 'cast', args: [value], type: 'date' }, `${name}::date`, 'date'],
    ] as const)
    return { expression, sql, type: result, nullable, exact: true, small: false }
  }

  /** An aggregate over what one can be made of here. */
  aggregate() {
    const random = this.#random
    const fn = random.pick(['count', 'count', 'sum', 'min', 'max', 'avg'] as const)
    if (random.chance(0.3)) return this.#ofSomeRows()
    if (fn === 'count') {
      if (random.chance(0.5)) return aggregateOf(fn, undefined, 'count(*)::uinteger', 'u32', true)
      const column = random.pick(this.#columns)
      return aggregateOf(fn, columnValue(column), `count(${quoted(column.name)})::uinteger`, 'u32', true)
    }
    if (fn === 'min' || fn === 'max') {
      const column = this.#pick(({ exact }) => exact)
      if (column === undefined) return undefined
      return aggregateOf(fn, columnValue(column), `${fn}(${quoted(column.name)})`, column.type, true)
    }
    const value = random.chance(0.5) ? (fn === 'avg' ? this.#whole() : this.#small()) : this.#tame()
    if (value === undefined) return undefined
    if (fn === 'avg') return aggregateOf(fn, value, `avg(${value.sql})`, 'f64', false)
    if (value.type === 'f64' || value.type === 'f32')
      return aggregateOf(fn, value, `sum(${value.sql})`, 'f64', false)
    return aggregateOf(fn, value, `sum(${value.sql})`, 'i128', true)
  }

  /** An aggregate of different values, or of those in the middle. */
  #ofSomeRows() {
    const column = this.#pick(({ exact }) => exact)
    if (column === undefined) return undefined
    const name = quoted(column.name)
    const isMedian = (column.type === 'u32' || column.type === 'i32') && this.#random.chance(0.5)
    if (isMedian) return aggregateOf('median', columnValue(column), `median(${name})`, 'f64', true)
    const { aggregate, ...count } = aggregateOf(
      'count',
      columnValue(column),
      `count(distinct ${name})::uinteger`,
      'u32',
      true,
    )
    return { ...count, aggregate: { ...aggregate, distinct: true } }
  }

  #pick(isRight: (column: FuzzColumn) => boolean): FuzzColumn | undefined {
    const right = this.#columns.filter(isRight)
    return right.length === 0 ? undefined : this.#random.pick(right)
  }

  #match(column: FuzzColumn): FuzzExpression {
    const op = this.#random.pick(['startsWith', 'endsWith', 'contains', 'like'] as const)
    if (op === 'like') {
      const pattern = this.#random.pick(PATTERNS)
      return {
        expression: { op, args: [columnOf(column)], text: pattern },
        sql: `${quoted(column.name)} like '${pattern}'`,
      }
    }
    const text = this.#random.pick(TEXTS)
    return {
      expression: { op, args: [columnOf(column)], text },
      sql: `${SQL_MATCHES[op]}(${quoted(column.name)}, '${text}')`,
    }
  }

  #membership(column: FuzzColumn): FuzzExpression {
    const members = Array.from({ length: 1 + this.#random.below(4) }, () => this.#constant(column.type))
    return {
      expression: { op: 'in', args: [columnOf(column), ...members.map(({ expression }) => expression)] },
      sql: `${quoted(column.name)} in (${members.map(({ sql }) => sql).join(', ')})`,
    }
  }

  #comparison(column: FuzzColumn): FuzzExpression {
    const random = this.#random
    const op: ComparisonOp = random.pick(COMPARISONS)
    const alike = this.#exact.filter(
      (other) => other !== column && (other.type === column.type || (other.small && column.small)),
    )
    const right =
      alike.length > 0 && random.chance(0.4) ? columnValue(random.pick(alike)) : this.#constant(column.type)
    return {
      expression: { op, args: [columnOf(column), right.expression] },
      sql: `${quoted(column.name)} ${op} ${right.sql}`,
    }
  }

  /** A constant as one finds it in a column of that type. */
  #constant(type: ColumnType): FuzzExpression {
    const cell = type === 'boolean' ? this.#random.chance(0.5) : randomCell(this.#random, type)
    const sql = `'${cell}'::${sqlTypeOf(type)}`
    if (typeof cell !== 'bigint' && type !== 'i128') return { expression: { value: cell }, sql }
    const integers = (['u64', 'i128'] as const).find((integer) => integer === type) ?? 'i64'
    return { expression: { value: String(cell), type: integers }, sql }
  }

  #copy(): FuzzValue {
    return columnValue(this.#random.pick(this.#columns))
  }

  #small(): FuzzValue | undefined {
    const column = this.#pick(({ small }) => small)
    return column && columnValue(column)
  }

  /** What averages are exact of. */
  #whole(): FuzzValue | undefined {
    const isWhole = (type: ColumnType) => ['u32', 'i32', 'u64', 'i64'].includes(type)
    const column = this.#pick(({ type }) => isWhole(type) || type.startsWith('decimal'))
    return column && columnValue(column)
  }

  /** A float that sums hold: between -100 and 100, else null. Those of doubles do not cancel out, which DuckDB is less exact for. */
  #tame(): FuzzValue | undefined {
    const column = this.#pick(({ exact, type }) => exact && (type === 'f32' || type === 'f64'))
    if (column === undefined) return undefined
    const least = column.type === 'f32' ? -100 : 0
    const value = columnOf(column)
    const condition: Expression = {
      op: 'and',
      args: [
        { op: '>', args: [value, { value: least }] },
        { op: '<', args: [value, { value: 100 }] },
      ],
    }
    const name = quoted(column.name)
    const sql = `case when ${name} > ${least} and ${name} < 100 then ${name} end`
    const expression: Expression = { op: 'case', when: [{ condition, value }] }
    return { expression, sql, type: column.type, nullable: true, exact: true, small: false }
  }

  #integers(): FuzzValue | undefined {
    const [a, b] = [this.#small(), this.#small()]
    if (a === undefined || b === undefined) return undefined
    const op = this.#random.pick(['+', '-', '*'] as const)
    const factor = this.#random.below(7) - 3
    const right = op === '*' ? { expression: { value: factor }, sql: String(factor), nullable: false } : b
    return {
      expression: { op, args: [a.expression, right.expression] },
      sql: `(${a.sql}::bigint ${op} (${right.sql})::bigint)`,
      type: 'i64',
      nullable: a.nullable || right.nullable,
      exact: true,
      small: false,
    }
  }

  #floats(): FuzzValue | undefined {
    const column = this.#pick(({ exact, type }) => exact && (type === 'f32' || type === 'f64'))
    if (column === undefined) return undefined
    const [op, factor] = this.#random.pick([
      ['*', 0.5],
      ['*', 3],
      ['+', 0.75],
      ['/', 7],
      ['%', 1.5],
    ] as const)
    return {
      expression: { op, args: [columnOf(column), { value: factor }] },
      sql: `(${quoted(column.name)} ${op} ${factor}::${sqlTypeOf(column.type)})`,
      type: column.type,
      nullable: column.nullable || op === '/' || op === '%',
      exact: false,
      small: false,
    }
  }

  #rounded(): FuzzValue | undefined {
    const column = this.#pick(({ exact, type }) => exact && (type === 'f32' || type === 'f64'))
    if (column === undefined) return undefined
    const op = this.#random.pick(['round', 'floor', 'ceil', 'abs'] as const)
    const { type, nullable } = column
    const expression: Expression = { op, args: [columnOf(column)] }
    return { expression, sql: `${op}(${quoted(column.name)})`, type, nullable, exact: true, small: false }
  }

  #coalesced(): FuzzValue {
    const first = this.#copy()
    const other = columnValue(this.#random.pick(this.#columns.filter(({ type }) => type === first.type)))
    return {
      expression: { op: 'coalesce', args: [first.expression, other.expression] },
      sql: `coalesce(${first.sql}, ${other.sql})`,
      type: first.type,
      nullable: first.nullable && other.nullable,
      exact: first.exact && other.exact,
      small: first.small && other.small,
    }
  }

  #quotient(): FuzzValue | undefined {
    const [a, b] = [this.#small(), this.#small()]
    if (a === undefined || b === undefined) return undefined
    const op = this.#random.pick(['/', '%', '//'] as const)
    // Columns may be of two types, which meet as integers do.
    const [one, other] = op === '/' ? [a.sql, b.sql] : [`${a.sql}::bigint`, `${b.sql}::bigint`]
    return {
      expression: { op, args: [a.expression, b.expression] },
      sql: `case when ${b.sql} = 0 then null else ${one} ${op} ${other} end`,
      type: op === '/' ? 'f64' : 'i64',
      nullable: true,
      exact: op !== '/',
      small: false,
    }
  }

  #choice(): FuzzValue {
    const random = this.#random
    const first = this.#copy()
    const alike = this.#columns.filter(({ type }) => type === first.type)
    const other = columnValue(random.pick(alike))
    const last =
      random.chance(0.3) && first.type !== 'boolean' && first.exact
        ? { ...this.#constant(first.type), nullable: false, exact: true }
        : columnValue(random.pick(alike))
    const conditions = [this.condition(1), this.condition(1)]
    const hasLast = random.chance(0.7)
    const values = hasLast ? [first, other, last] : [first, other]
    const when = [first, other].map(({ expression }, i) => {
      return { condition: conditions[i]!.expression, value: expression }
    })
    const branches = [first, other].map(({ sql }, i) => `when ${conditions[i]!.sql} then ${sql}`).join(' ')
    return {
      expression: { op: 'case', when, ...(hasLast ? { otherwise: last.expression } : {}) },
      sql: `case ${branches}${hasLast ? ` else ${last.sql}` : ''} end`,
      type: first.type,
      nullable: !hasLast || values.some(({ nullable }) => nullable),
      exact: values.every(({ exact }) => exact),
      small: false,
    }
  }

  #cast(): FuzzValue | undefined {
    const column = this.#pick(({ type }) => type === 'u32' || type === 'i32')
    if (column === undefined) return undefined
    const type = column.type === 'u32' && this.#random.chance(0.5) ? 'u64' : 'i64'
    return {
      expression: { op: 'cast', args: [columnOf(column)], type },
      sql: `${quoted(column.name)}::${sqlTypeOf(type)}`,
      type,
      nullable: column.nullable,
      exact: true,
      small: false,
    }
  }

  #truth(): FuzzValue {
    return { ...this.condition(1), type: 'boolean', nullable: true, exact: true, small: false }
  }
}

function aggregateOf(
  fn: AggregateFunction,
  value: FuzzValue | undefined,
  sql: string,
  type: ColumnType,
  exact: boolean,
) {
  const aggregate = { function: fn, ...(value === undefined ? {} : { value: value.expression }) }
  return { aggregate, sql, type, exact }
}

function columnOf({ name }: FuzzColumn): Expression {
  return { column: name }
}

export function columnValue(column: FuzzColumn): FuzzValue {
  const { type, nullable, exact, small } = column
  return { expression: columnOf(column), sql: quoted(column.name), type, nullable, exact, small }
}
