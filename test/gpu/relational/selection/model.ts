import { compareStrings } from '../../../../gpu/relational/query/dictionaries.js'
import type { Condition, SelectionPlan } from '../../../../gpu/relational/selection/selection-types.js'
import type { ColumnType } from '../../../../protocol/column-types.js'
import { isLike } from '../../../is-like.js'
import type { Cell, HostColumn, HostRelation } from '../../../src/query/host-relation.js'

/** A value as a number in the order of its type: both zeros are one, NaN is above all. */
export function ordered(type: ColumnType, cell: Exclude<Cell, null>, strings: readonly string[]): bigint {
  switch (type) {
    case 'i32':
      return BigInt(cell) + 2n ** 31n
    case 'i64':
      return BigInt(cell) + 2n ** 63n
    case 'f32': {
      const number = Number(cell)
      if (Number.isNaN(number)) return 0xffffffffn
      const bits = new Uint32Array(Float32Array.of(number + 0).buffer)[0]!
      return BigInt(bits >= 2 ** 31 ? 2 ** 32 - 1 - bits : bits + 2 ** 31)
    }
    case 'string':
      return BigInt(strings.indexOf(cell as string))
    default:
      return BigInt(cell)
  }
}

/** The different strings of a column, in order. */
export function stringsOf(column: HostColumn): string[] {
  return [...new Set(column.cells.filter((cell) => typeof cell === 'string'))].sort(compareStrings)
}

function isFound(match: 'contains' | 'endsWith' | 'like', text: string, string: string): boolean {
  if (match === 'like') return isLike(text, string)
  return match === 'contains' ? string.includes(text) : string.endsWith(text)
}

/** Selections in plain TypeScript. */
export class Model {
  readonly #table: HostRelation
  readonly #strings: readonly (readonly string[])[]

  constructor(table: HostRelation) {
    this.#table = table
    this.#strings = table.columns.map(stringsOf)
  }

  passes(condition: Condition, row: number): boolean {
    switch (condition.kind) {
      case 'values': {
        const { type, cells } = this.#table.columns[condition.column]!
        const cell = cells[row]!
        if (cell === null) return condition.set.nulls
        const number = ordered(type, cell, this.#strings[condition.column]!)
        return condition.set.intervals.some(({ low, high }) => low <= number && number <= high)
      }
      case 'match': {
        const cell = this.#table.columns[condition.column]!.cells[row]!
        if (typeof cell !== 'string') return false
        const { text, match, negated } = condition
        return isFound(match, text, cell) !== negated
      }
      case 'any':
        return condition.branches.some((branch) => branch.every((part) => this.passes(part, row)))
      default:
        throw new Error('the model knows no expressions')
    }
  }

  /** How many rows each kernel of a plan leaves, and the rows that the last one does. */
  run(conditions: readonly Condition[], plan: SelectionPlan, start?: readonly number[]) {
    let rows = start ?? Array.from({ length: this.#table.rows }, (_, row) => row)
    const left = plan.kernels.map(({ groups }) => {
      rows = rows.filter((row) => groups.flat().every((number) => this.passes(conditions[number]!, row)))
      return rows.length
    })
    return { rows, left }
  }

  columns(numbers: readonly number[], rows: readonly number[]): Cell[][] {
    return numbers.map((number) => rows.map((row) => this.#table.columns[number]!.cells[row]!))
  }
}
