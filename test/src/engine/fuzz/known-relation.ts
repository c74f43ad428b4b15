import { PLAIN_TYPES } from '../../../../protocol/column-types.js'
import type { RelationValue } from '../../../../protocol/relation-values.js'
import {
  type AppendedRows,
  type ColumnDefinition,
  packBatch,
  type ReadRows,
  type Relation,
  type RelationBatch,
  type RelationDefinition,
  unpackColumn,
} from '../../../../src/engine/index.js'
import type { RowsOfColumns } from '../../../../src/engine/relation-reader.js'
import { randomTyped } from '../../../column-values.js'
import type { Random } from '../../../random.js'
import { insertOf } from './column-keys.js'
import type { KnownIndex } from './known-index.js'

/** Values of columns, one a row. */
type Values = Record<string, RelationValue[]>

const MOST_COLUMNS = 4
const TEXTS = ['', 'a', 'ab', 'é', '日本', '🜁', 'z'.repeat(70)]

/** A relation's definition at random. */
export function randomRelation(random: Random, name: string): RelationDefinition {
  const columns = Array.from({ length: 1 + random.below(MOST_COLUMNS) }, (_, i) => ({
    name: `c${i}`,
    type: random.pick([...PLAIN_TYPES, 'decimal(18,6)'] as const),
    nullable: random.chance(0.5),
  }))
  return { name, columns }
}

export function randomValue(random: Random, { type, nullable }: ColumnDefinition): RelationValue {
  if (nullable && random.chance(0.2)) return null
  const number = random.chance(0.1) ? random.word() : random.below(40)
  switch (type) {
    case 'u32':
      return number
    case 'i32':
      return (random.chance(0.5) ? number : -number) | 0
    case 'f32':
      return random.chance(0.1)
        ? random.pick([-0, Number.NaN, Number.POSITIVE_INFINITY, Math.fround(1e-45)])
        : Math.fround(number / 8)
    case 'u64':
      return random.chance(0.1) ? 2n ** 64n - 1n : BigInt(number)
    case 'i64':
      return random.chance(0.1) ? -(2n ** 63n) : BigInt(number) - 20n
    case 'string':
      return random.chance(0.7) ? random.pick(TEXTS) : `text ${number}`
    default:
      return randomTyped(random, type)
  }
}

/** A relation of an engine, and the rows that it must have once all that was asked is done. */
export class KnownRelation {
  readonly definition: RelationDefinition
  /** Another one after a restart. */
  relation: Relation
  /** Indexes over one column each, by the column's name. */
  readonly over = new Map<KnownIndex, string>()
  #rows = 0
  readonly #values: Values

  constructor(relation: Relation) {
    this.relation = relation
    this.definition = relation.definition
    this.#values = Object.fromEntries(relation.definition.columns.map(({ name }) => [name, []]))
  }

  get rows(): number {
    return this.#rows
  }

  /** Rows at random, as the relation takes them and as its model does. */
  randomRows(random: Random, most: number): { readonly batch: RelationBatch; readonly values: Values } {
    const rows = random.pick([1, 3, random.below(most)])
    const { columns } = this.definition
    const values = Object.fromEntries(
      columns.map((column) => [column.name, Array.from({ length: rows }, () => randomValue(random, column))]),
    )
    return { batch: packBatch(values, this.definition), values }
  }

  /** Adds rows to its model. @returns where they lie */
  append(values: Values): AppendedRows {
    const [some = []] = Object.values(values)
    const appended = { first: this.#rows, rows: some.length }
    for (const known of this.over.keys()) this.#index(known, values, appended.first)
    this.#rows += some.length
    for (const [name, column] of Object.entries(values)) this.#values[name]!.push(...column)
    return appended
  }

  /** Adds an index over a column, with all rows. */
  addIndex(known: KnownIndex, column: string): void {
    this.over.set(known, column)
    this.#index(known, this.#values, 0)
  }

  #index(known: KnownIndex, values: Values, first: number): void {
    const name = this.over.get(known)
    const column = this.definition.columns.find((each) => each.name === name)!
    known.model.plan(insertOf(column, values[column.name]!, first)).apply()
  }

  /** All that it must hold. */
  contents(): Values {
    return Object.fromEntries(Object.entries(this.#values).map(([name, column]) => [name, [...column]]))
  }

  /** Which rows to read, at random. */
  randomRead(random: Random): RowsOfColumns {
    const columns = this.definition.columns.map(({ name }) => name).filter(() => random.chance(0.6))
    return { columns, from: random.below(this.#rows + 2), limit: random.pick([1, 20, 1000]) }
  }

  /** What a read must answer, as `comparableRows` shows it. */
  answer({ columns, from, limit }: RowsOfColumns): unknown {
    const names = columns.length > 0 ? columns : Object.keys(this.#values)
    const values = names.map((name) => [name, this.#values[name]!.slice(from, from + limit)] as const)
    return { total: this.#rows, values: Object.fromEntries(values) }
  }
}

/** What is to be compared of an answer. */
export function comparableRows({ columns, batch, total }: ReadRows): unknown {
  const values = columns.map(
    ({ name, type }) => [name, unpackColumn(batch.columns.get(name)!, type)] as const,
  )
  return { total, values: Object.fromEntries(values) }
}
