import { type ColumnType, RESULT_DIGITS } from '../column-types.js'

/** What integers of a type are at least and at most, those of 128 bits as decimals; undefined for what is no integer. */
export const INTEGER_RANGES: Readonly<Partial<Record<ColumnType, readonly [least: bigint, most: bigint]>>> = {
  u32: [0n, 2n ** 32n - 1n],
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  u64: [0n, 2n ** 64n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  i128: [1n - 10n ** BigInt(RESULT_DIGITS), 10n ** BigInt(RESULT_DIGITS) - 1n],
}

/** A number of up to 128 bits as a text. */
export const DIGITS = /^-?\d{1,39}$/
