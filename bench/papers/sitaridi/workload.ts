import type { Device } from '../../../gpu/device/device.js'
import { evaluateRows } from '../../../gpu/relational/expressions/evaluate.js'
import { DeviceWork } from '../../../gpu/relational/query/device-work.js'
import { compareStrings, dictionaryOf } from '../../../gpu/relational/query/dictionaries.js'
import type { QueryColumn } from '../../../gpu/relational/query/query-column.js'
import { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import { randomWords } from '../../../gpu/relational/selection/random-words.js'
import type { Condition } from '../../../gpu/relational/selection/selection-types.js'
import { scattered } from '../../keys.js'

/** Values of a column, and one more than the largest. */
const VALUES = 2 ** 32

/** Different strings of a column: with them in the device's caches a match costs what comparing bytes does, as in the paper. */
const STRINGS = 2 ** 16

/** What every other string has, at its end. */
const MATCHED = 'z'

/** Columns of a table on the device, all uniformly random and none correlated with another. */
export interface SelectTable {
  readonly rows: number
  readonly columns: readonly QueryColumn[]
  destroy(): void
}

/** The value of a row in a column of 32-bit integers. DuckDB makes the same. */
function valueAt(rows: number, column: number, row: number): number {
  return scattered(column * rows + row)
}

/** Columns of `u32`, and after them one of strings for each of `lengths`. */
export async function randomTable(
  device: Device,
  rows: number,
  integers: number,
  lengths: readonly number[] = [],
): Promise<SelectTable> {
  const scratch = device.scratch()
  const work = new DeviceWork(device, await QueryKernels.create(device), scratch)
  const count = integers + lengths.length
  const builds = Array.from({ length: count }, (_, column) =>
    randomWords(column * rows, column < integers ? undefined : STRINGS - 1),
  )
  const words = await evaluateRows(work, { count: rows }, builds)
  await work.submitted()
  const columns = words.map((column, i): QueryColumn => {
    const length = lengths[i - integers]
    return length === undefined
      ? column
      : { ...column, type: 'string', dictionary: dictionaryOf(stringsOf(length)) }
  })
  return { rows, columns, destroy: () => scratch.end() }
}

/** Different strings in their order, half of which have `MATCHED`. */
function stringsOf(length: number): string[] {
  const strings = Array.from({ length: STRINGS }, (_, code) => {
    const digits = code.toString(16).padStart(4, '0')
    const filling = 'abcdefghijklmnop'.slice(0, length - digits.length - 1)
    return digits + filling + (isMatched(code) ? MATCHED : 'y')
  })
  return strings.sort(compareStrings)
}

function isMatched(code: number): boolean {
  return scattered(code) % 2 === 0
}

/** What an integer column is compared with so that a share of the rows is below it. */
export function boundOf(selectivity: number): number {
  return Math.round(selectivity * VALUES)
}

/** Column < bound. */
export function below(column: number, bound: number): Condition {
  const intervals = bound === 0 ? [] : [{ low: 0n, high: BigInt(bound) - 1n }]
  return { kind: 'values', column, set: { intervals, nulls: false } }
}

/** Column like '%z%'. */
export function matches(column: number): Condition {
  return { kind: 'match', column, match: 'contains', text: MATCHED, negated: false }
}

/** How the integer columns of a row are compared: with a bound, or with each of several. */
export interface Counting {
  readonly fixed: readonly { readonly column: number; readonly bound: number }[]
  readonly varied: readonly number[]
  /** Number of a column of strings that must match, if there is one. */
  readonly matched?: number | undefined
}

/** How many rows satisfy all conditions, for each of the bounds, which ascend: what every plan must find. */
export function countRows(
  rows: number,
  { fixed, varied, matched }: Counting,
  bounds: readonly number[],
): number[] {
  const firsts = new Float64Array(bounds.length + 1)
  const limits = Float64Array.from(bounds)
  for (let row = 0; row < rows; row++) {
    // Plain loops: there are hundreds of millions of turns.
    let passes = true
    for (let i = 0; passes && i < fixed.length; i++) {
      passes = valueAt(rows, fixed[i]!.column, row) < fixed[i]!.bound
    }
    if (!passes) continue
    if (matched !== undefined && !isMatched(valueAt(rows, matched, row) % STRINGS)) continue
    let largest = 0
    for (let i = 0; i < varied.length; i++) largest = Math.max(largest, valueAt(rows, varied[i]!, row))
    let first = 0
    while (first < limits.length && largest >= limits[first]!) first++
    firsts[first]!++
  }
  let sum = 0
  return bounds.map((_, i) => {
    sum += firsts[i]!
    return sum
  })
}
