import type { ColumnType } from '../column-types.js'

/** What integers of a type are at least and at most; undefined for what is no integer. */
export const INTEGER_RANGES: Readonly<Partial<Record<ColumnType, readonly [least: bigint, most: bigint]>>> = {
  u32: [0n, 2n ** 32n - 1n],
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  u64: [0n, 2n ** 64n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
}

/** A number of 64 bits as a text. */
export const DIGITS = /^-?\d{1,20}$/
