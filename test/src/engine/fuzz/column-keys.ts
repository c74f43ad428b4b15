import type { WriteBatch } from '../../../../gpu/index-structure.js'
import { type ColumnType, keyTypeOfColumn } from '../../../../protocol/column-types.js'
import { type Column, columnOf } from '../../../../protocol/columns.js'
import type { ColumnDefinition } from '../../../../protocol/relation.js'
import type { RelationValue } from '../../../../protocol/relation-values.js'
import { type FixedKeyType, keyWidth, WriteOp } from '../../../../protocol/types.js'
import { hasTexts, parseText } from '../../../../protocol/value-texts.js'
import type { KeySpace } from '../../../key-space.js'

type Value = Exclude<RelationValue, null>

const ENCODERS: { readonly [Type in FixedKeyType | 'string']: (value: Value) => Uint8Array } = {
  u32: (value) => new Uint8Array(Uint32Array.of(Number(value)).buffer),
  i32: (value) => new Uint8Array(Int32Array.of(Number(value)).buffer),
  f32: (value) => new Uint8Array(Float32Array.of(Number(value)).buffer),
  u64: (value) => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer),
  i64: (value) => new Uint8Array(BigInt64Array.of(BigInt(value)).buffer),
  f64: (value) => new Uint8Array(Float64Array.of(Number(value)).buffer),
  string: (value) => Uint8Array.from(Buffer.from(String(value))),
}

/** The key of a row by its value in a column; none where that is missing or no number. */
function keyOf(type: ColumnType, value: RelationValue): Uint8Array | undefined {
  if (value === null || Number.isNaN(value)) return undefined
  const stored = hasTexts(type) ? parseText(String(value), type)! : value
  return ENCODERS[keyTypeOfColumn(type)](stored)
}

/** What rows put into an index over a column. @param first number of the first row */
export function insertOf(
  { type }: ColumnDefinition,
  values: readonly RelationValue[],
  first: number,
): WriteBatch {
  const rows = values.flatMap((value, i) => {
    const key = keyOf(type, value)
    return key === undefined ? [] : [{ key, row: first + i }]
  })
  return {
    ops: WriteOp.insert,
    keys: columnOf(
      rows.map(({ key }) => key),
      keyWidth(keyTypeOfColumn(type)),
    ),
    payloads: columnOf(
      rows.map(({ row }) => new Uint8Array(Uint32Array.of(row).buffer)),
      4,
    ),
  }
}

/** Keys that values of a column are. */
export class ColumnKeySpace implements KeySpace {
  readonly #type: ColumnType
  readonly #value: () => RelationValue

  /** @param value draws one */
  constructor({ type }: ColumnDefinition, value: () => RelationValue) {
    this.#type = type
    this.#value = value
  }

  column(count: number): Column {
    return columnOf(
      Array.from({ length: count }, () => this.#key()),
      keyWidth(keyTypeOfColumn(this.#type)),
    )
  }

  bounds(count: number): Column {
    return this.column(count)
  }

  #key(): Uint8Array {
    return keyOf(this.#type, this.#value()) ?? this.#key()
  }
}
