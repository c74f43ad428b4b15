import { type ColumnType, decimalShape, decimalType, SUM_DIGITS } from '../../../protocol/column-types.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { AggregateFunction } from '../../../protocol/query/tree.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { Build } from '../expressions/evaluate.js'
import { restored } from '../expressions/operators.js'
import type { RowCode } from '../expressions/row-code.js'
import type { RowValue } from '../expressions/row-value.js'
import { sumFault } from '../query/device-work.js'
import { valueWords } from '../query/query-column.js'
import { type AggregateState, wordsOf } from './aggregate-states.js'
import { type GroupPlan, type SlotKey, slotsOf } from './group-plan.js'

/** Statements that a quotient of 128 bits takes, roughly. */
const QUOTIENT = 150

/** Where a plan has accumulated states. */
export interface PlanStates {
  readonly plan: GroupPlan
  readonly states: DeviceMemory
}

/**
 * What computes the aggregates of groups.
 * @param place adds the WGSL of the number of a group's state
 */
export function aggregateResults(
  all: readonly PlanStates[],
  place: (code: RowCode) => string = () => 'row',
): Build[] {
  const aggregates = all.flatMap(({ plan, states }) =>
    plan.states.aggregates.map((aggregate) => ({ aggregate, words: plan.states.words, states })),
  )
  return aggregates.map(({ aggregate, words, states }, number) => (code) => {
    const name = code.bind(states, 'u32')
    const first = `${place(code)} * ${words}u`
    return aggregateResult(code, aggregate, number, (at) => `${name}[${first} + ${at}u]`)
  })
}

/** A sum of integers that does not fit 64 bits is a fault (`sumFault` of the aggregate's number). */
function aggregateResult(
  code: RowCode,
  { function: fn, type, dictionary, nullable, count, result, squares }: AggregateState,
  number: number,
  word: (at: number) => string,
): RowValue {
  if (squares !== undefined) {
    return spread(code, fn, wordsOf(result, word), wordsOf(squares, word), word(count.at))
  }
  const valid = nullable ? code.let(`${word(count.at)} != 0u`) : undefined
  const total = code.let(wordsOf(result, word))
  switch (fn) {
    case 'count':
      return code.computed('u32', total)
    case 'min':
    case 'max': {
      const most = fn === 'max' ? total : `~${total}`
      return restored(code, code.computed(type!, most, { valid, dictionary }))
    }
    case 'sum':
      return sum(code, type!, total, valid, sumFault(number))
    case 'avg':
      return code.computed('f64', average(code, type!, total, word(count.at)), { valid })
    default:
      throw new WarpdexError('INTERNAL', `${fn} follows from no sum`)
  }
}

/** The variance or the standard deviation of a sample; null of fewer than two values. */
function spread(code: RowCode, fn: AggregateFunction, sum: string, squares: string, count: string): RowValue {
  code.weigh(QUOTIENT)
  const valid = code.let(`${count} > 1u`)
  const variance = code.let(`${code.use('variance', 'variance_of_sums')}(${sum}, ${squares}, ${count})`)
  const root = () => `${code.use('variance', 'root_of_double')}(${variance})`
  return code.computed('f64', fn === 'stddev' ? root() : variance, { valid })
}

function sum(
  code: RowCode,
  type: ColumnType,
  total: string,
  valid: string | undefined,
  overflow: number,
): RowValue {
  if (type === 'f64') return code.computed('f64', average(code, type, total, '1u'), { valid })
  if (valueWords(type) === 1) return code.computed(type === 'u32' ? 'u64' : 'i64', total, { valid })
  const extension = type === 'u64' ? '0u' : `${code.use('sums', 'extended_wide')}(${total}.xy).z`
  const fault = code.let(`${total}.z != ${extension}`)
  const decimal = decimalShape(type)
  const own = decimal === undefined ? type : decimalType(SUM_DIGITS, decimal.scale)
  return code.noted(code.computed(own, `${total}.xy`, { valid, fault }), overflow)
}

/** WGSL of a sum divided by the number of values: the nearest double. */
function average(code: RowCode, type: ColumnType, sum: string, count: string): string {
  code.weigh(QUOTIENT)
  const scale = decimalShape(type)?.scale ?? 0
  const divisor =
    scale === 0
      ? `vec4u(${count}, 0u, 0u, 0u)`
      : `${code.use('averages', 'scaled_count')}(${count}, ${code.constant(10n ** BigInt(scale), 2).value})`
  if (type === 'f64') return `${code.use('doubleSums', 'average_of_sum')}(${sum}, ${divisor})`
  return `${code.use('averages', 'average_as_double')}(${sumOf128(code, type, sum)}, ${divisor})`
}

/** WGSL of a sum of integers with 128 bits. */
function sumOf128(code: RowCode, type: ColumnType, sum: string): string {
  if (type === 'u32') return `vec4u(${sum}, 0u, 0u)`
  if (type === 'u64') return `vec4u(${sum}, 0u)`
  const long = type === 'i32' ? `${code.use('sums', 'extended_wide')}(${sum})` : sum
  return `${code.use('averages', 'extended_long')}(${long})`
}

/**
 * What computes the keys of groups as they follow from the numbers of slots.
 * @param slot adds the WGSL of such a number
 */
export function keyResults(keys: readonly SlotKey[], slot: (code: RowCode) => string): Build[] {
  return keys.map(({ column: { source }, nullable, size, common }, i) => (code) => {
    const { type, dictionary } = source
    const words = valueWords(type)
    const places = nullable ? size + 1 : size
    const divisor = slotsOf(keys.slice(i + 1))
    const digit = code.let(`(${slot(code)} / ${code.word(divisor)}) % ${code.word(places)}`)
    const valid = nullable ? code.let(`${digit} != ${code.word(size)}`) : undefined
    const bits = code.constant(common, words).value
    const value = `${bits} | ${words === 2 ? `vec2u(${digit}, 0u)` : digit}`
    return restored(code, code.computed(type, value, { valid, dictionary }))
  })
}
