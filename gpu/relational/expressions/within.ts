import { isFloat } from '../../../protocol/query/value-types.js'
import type { RowText } from './row-text.js'
import type { RowValue } from './row-value.js'
import { isEverything, type StoredIntervals, storedIntervals } from './stored-intervals.js'
import type { Interval } from './value-sets.js'

/** Functions that place floats in their order, by the type. */
const PLACES = { f32: 'placed_float', f64: 'placed_double' } as const

/** Of so many intervals each is tested. */
export const FEW_INTERVALS = 4

/** Bits of a table of values at most: it should stay in the caches beside the columns. */
export const TABLE_BITS = 1 << 16

/** Statements that a step of a search takes, roughly. */
const SEARCH_STEP = 10

/**
 * WGSL of 1 where a value that is not null lies in some interval of the order of its type, else of 0. A few intervals are tested one by one; of more there
 * is a table with a bit for each value from the lowest on or, where that would be too large, they are searched.
 */
export function within(
  code: RowText,
  { type, words, value }: RowValue,
  intervals: readonly Interval[],
): string {
  const set = storedIntervals(intervals, type)
  if (set.intervals.length === 0 || isEverything(set)) return set.intervals.length > 0 ? '1u' : '0u'
  const place = isFloat(type) ? code.let(`${code.use('order', PLACES[type])}(${value})`) : value
  const from = (low: bigint) => {
    const { value: least } = code.constant(BigInt.asUintN(set.bits, set.lowest + low), words)
    return words === 2 ? `${code.use('wide', 'subtract_wide')}(${place}, ${least})` : `(${place} - ${least})`
  }
  if (set.intervals.length <= FEW_INTERVALS) {
    const each = set.intervals.map(({ low, high }) => {
      const span = code.constant(high - low, words).value
      if (words === 1) return `(${from(low)} <= ${span})`
      return `!${code.use('wide', 'less_wide')}(${span}, ${from(low)})`
    })
    return `select(0u, 1u, ${each.join(' | ')})`
  }
  const distance = code.let(from(0n))
  const last = set.intervals.at(-1)!.high
  if (last < TABLE_BITS) {
    const word = words === 2 ? `select(0xffffffffu, ${distance}.x, ${distance}.y == 0u)` : distance
    const table = bitTable(set.intervals, Number(last))
    return `${code.define('has_bit', HAS_BIT)}(${word}, ${code.table(table)}, ${code.word(table.length - 1)})`
  }
  return inList(code, set, distance)
}

/** A bit for each distance, and a word of zeros behind them. */
function bitTable(intervals: readonly Interval[], last: number): Uint32Array {
  const table = new Uint32Array((last >> 5) + 2)
  for (const { low, high } of intervals) {
    for (let bit = Number(low); bit <= Number(high); bit++) table[bit >> 5]! |= 1 << (bit & 31)
  }
  return table
}

const HAS_BIT = `fn has_bit(distance: u32, first: u32, zeros: u32) -> u32 {
  return (tables[first + min(distance / 32u, zeros)] >> (distance % 32u)) & 1u;
}`

/** Bounds are where intervals begin and where they are over, by turns: the last one that is not above the distance is searched, by halves. */
function inList(code: RowText, { bits, intervals }: StoredIntervals, distance: string): string {
  const bounds = intervals.flatMap(({ low, high }) => [low, high + 1n])
  if (bounds.at(-1) === 1n << BigInt(bits)) bounds.pop()
  const isWide = bits === 64
  const list = isWide ? new Uint32Array(BigUint64Array.from(bounds).buffer) : Uint32Array.from(bounds, Number)
  const steps = Math.ceil(Math.log2(bounds.length))
  code.weigh(steps * SEARCH_STEP)
  if (isWide) code.use('wide', 'less_wide')
  const later = isWide
    ? code.define('later_wide_bound', LATER_WIDE_BOUND)
    : code.define('later_bound', LATER_BOUND)
  const name = `in_${isWide ? 'wide_' : ''}list_${steps}`
  const halves = Array.from({ length: steps }, (_, i) => {
    return `  last = ${later}(distance, first, last, min(last + ${2 ** (steps - 1 - i)}u, count - 1u));`
  })
  const text = [
    `fn ${name}(distance: ${isWide ? 'vec2u' : 'u32'}, first: u32, count: u32) -> u32 {`,
    '  var last = 0u;',
    ...halves,
    '  return 1u - last % 2u;',
    '}',
  ]
  return `${code.define(name, text.join('\n'))}(${distance}, ${code.table(list)}, ${code.word(bounds.length)})`
}

const LATER_BOUND = `fn later_bound(distance: u32, first: u32, last: u32, next: u32) -> u32 {
  return select(last, next, tables[first + next] <= distance);
}`

const LATER_WIDE_BOUND = `fn later_wide_bound(distance: vec2u, first: u32, last: u32, next: u32) -> u32 {
  let bound = vec2u(tables[first + 2u * next], tables[first + 2u * next + 1u]);
  return select(next, last, less_wide(distance, bound));
}`
