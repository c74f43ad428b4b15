import type { ColumnType } from '../../../../protocol/column-types.js'
import { COMPARISONS, type Expression } from '../../../../protocol/query/tree.js'
import type { Random } from '../../../random.js'
import { type Cell, type HostRelation, hostRelation } from '../host-relation.js'

const TYPES: Readonly<Record<string, ColumnType>> = {
  a: 'i64',
  b: 'i64',
  c: 'i64',
  u: 'u64',
  w: 'u32',
  v: 'i32',
}
const SIGNED = ['a', 'b', 'c', 'na', 'nb', 'nc', 'w', 'nw', 'v', 'nv']
const ALL = [...SIGNED, 'u', 'nu']

function randomValue(random: Random, type: ColumnType): Cell {
  const small = random.below(6)
  const extreme = random.chance(0.3)
  switch (type) {
    case 'i64':
      return extreme
        ? random.chance(0.5)
          ? 2n ** 63n - 1n - BigInt(small)
          : -(2n ** 63n) + BigInt(small)
        : BigInt(small - 3)
    case 'u64':
      return extreme ? 2n ** 64n - 1n - BigInt(small) : BigInt(small)
    case 'u32':
      return extreme ? 2 ** 32 - 1 - small : small
    default:
      return small - 3
  }
}

/** Columns whose sums and products overflow in many rows; those whose name begins with n have nulls. */
export function faultyRelation(random: Random, rows: number): HostRelation {
  return hostRelation('r', [
    { name: 'id', type: 'u32', nullable: false, cells: Array.from({ length: rows }, (_, row) => row) },
    ...Object.entries(TYPES).flatMap(([name, type]) =>
      [false, true].map((nullable) => ({
        name: nullable ? `n${name}` : name,
        type,
        nullable,
        cells: Array.from({ length: rows }, () =>
          nullable && random.chance(0.25) ? null : randomValue(random, type),
        ),
      })),
    ),
  ])
}

/** Makes conditions of which some parts are faults in some rows. */
export class FaultyConditions {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** A conjunction, as plans are made for. */
  conjunction(parts: number, depth: number): Expression {
    return { op: 'and', args: Array.from({ length: parts }, () => this.condition(depth)) }
  }

  condition(depth: number): Expression {
    const random = this.#random
    const choice = depth === 0 ? 0 : random.below(7)
    if (choice <= 1) return this.#leaf()
    if (choice === 2) return { op: 'not', args: [this.condition(depth - 1)] }
    if (choice === 3) {
      return {
        op: 'case',
        when: [{ condition: this.condition(0), value: this.condition(depth - 1) }],
        otherwise: this.condition(0),
      }
    }
    const args = Array.from({ length: 2 + random.below(2) }, () => this.condition(depth - 1))
    return { op: choice <= 5 ? 'and' : 'or', args }
  }

  /** A number that overflows in some rows. */
  number(): Expression {
    const random = this.#random
    const op = random.pick(['+', '-', '*'] as const)
    if (random.chance(0.15)) return { op: 'cast', args: [{ column: random.pick(['u', 'nu']) }], type: 'i64' }
    const left = random.chance(0.15) ? this.number() : { column: random.pick(SIGNED) }
    if (random.chance(0.1)) {
      const when = [{ condition: this.#compared(this.number()), value: left }]
      return { op: 'case', when, otherwise: { column: random.pick(SIGNED) } }
    }
    return { op, args: [left, { column: random.pick(SIGNED) }] }
  }

  #leaf(): Expression {
    const random = this.#random
    const choice = random.below(10)
    if (choice < 4) return this.#compared({ column: random.pick(ALL) })
    if (choice === 4) return { op: 'isNull', args: [{ column: random.pick(['na', 'nu', 'nw']) }] }
    if (choice === 5) return { op: 'isNull', args: [this.number()] }
    if (choice === 6)
      return { op: random.pick(COMPARISONS), args: [this.number(), { column: random.pick(SIGNED) }] }
    return this.#compared(this.number())
  }

  #compared(value: Expression): Expression {
    return { op: this.#random.pick(COMPARISONS), args: [value, { value: this.#random.below(6) }] }
  }
}
