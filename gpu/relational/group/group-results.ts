import {
  type ColumnType,
  decimalShape,
  decimalType,
  RESULT_DIGITS,
  storageOf,
} from '../../../protocol/column-types.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { AggregateFunction } from '../../../protocol/query/tree.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { withDigits } from '../expressions/conversion.js'
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

/** A sum of integers that does not fit its type is a fault (`sumFault` of the aggregate's number). */
function aggregateResult(
  code: RowCode,
  { function: fn, type, dictionary, nullable, count, result, squares, upper }: AggregateState,
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
    case 'avg': {
      const values = fn === 'avg' ? word(count.at) : undefined
      if (type === 'f64') return code.computed('f64', doubleAverage(code, total, values), { valid })
      const whole = integerSum(code, type!, total, upper && wordsOf(upper, word))
      const sum = code.noted({ ...whole, valid }, sumFault(number))
      return values === undefined ? sum : code.computed('f64', average(code, sum, values), { valid })
    }
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

/** A sum of integers or decimals, in the type that it has. */
function integerSum(code: RowCode, type: ColumnType, total: string, upper: string | undefined): RowValue {
  const decimal = decimalShape(type)
  const own = decimal === undefined ? 'i128' : decimalType(RESULT_DIGITS, decimal.scale)
  if (upper === undefined) return code.computed(own, sumOf128(code, type, total))
  const sum = code.let(`${code.use('sums', 'sum_of_halves')}(${total}, ${upper})`)
  return withDigits(code, code.computed(own, `${sum}.value`, { fault: `${sum}.overflow` }))
}

/** WGSL of a sum of integers of up to 64 bits with 128 bits. */
function sumOf128(code: RowCode, type: ColumnType, sum: string): string {
  switch (storageOf(type)) {
    case 'u32':
      return `vec4u(${sum}, 0u, 0u)`
    case 'i32':
      return `${code.use('integers128', 'wide_to_128')}(${sum})`
    case 'u64':
      return `vec4u(${sum}, 0u)`
    default:
      return `${code.use('integers128', 'long_to_128')}(${sum})`
  }
}

/** WGSL of a sum divided by the number of values: the nearest double. */
function average(code: RowCode, { type, value }: RowValue, count: string): string {
  code.weigh(QUOTIENT)
  const scale = decimalShape(type)?.scale ?? 0
  const power = code.constant(10n ** BigInt(scale), 4).value
  const divisor = `${code.use('integers128', 'product_128')}(vec4u(${count}, 0u, 0u, 0u), ${power}).value`
  return `${code.use('averages', 'average_as_double')}(${value}, ${scale === 0 ? `vec4u(${count}, 0u, 0u, 0u)` : divisor})`
}

/** The same of a sum of doubles; the sum itself if there is no number. */
function doubleAverage(code: RowCode, sum: string, count = '1u'): string {
  code.weigh(QUOTIENT)
  return `${code.use('doubleSums', 'average_of_sum')}(${sum}, vec4u(${count}, 0u, 0u, 0u))`
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
