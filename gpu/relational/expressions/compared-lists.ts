import { getOrInsert } from '../../../protocol/get-or-insert.js'
import type { ConstantValue, TypedExpression } from '../../../protocol/query/typed.js'
import { codeOf } from '../query/dictionaries.js'
import type { StringDictionary } from '../string-dictionary.js'
import type { ExpressionNumbers } from './expression-numbers.js'
import { constantBits, orderedNumber } from './ordered-numbers.js'
import type { RowText } from './row-text.js'
import type { RowValue } from './row-value.js'
import { type Interval, setOf } from './value-sets.js'
import { within } from './within.js'

type Constant = Exclude<ConstantValue, null>

/** A value, and constants of which it equals one. */
export interface ComparedList {
  readonly value: TypedExpression
  readonly constants: readonly Constant[]
}

/**
 * The operands of `or`s within each other, of which some compare one value with constants: as `in` does.
 * @param isKnown whether an operand need not be taken apart
 */
export function comparedLists(
  expression: TypedExpression,
  numbers: ExpressionNumbers,
  isKnown: (operand: TypedExpression) => boolean,
): { readonly lists: readonly ComparedList[]; readonly others: readonly TypedExpression[] } {
  const others: TypedExpression[] = []
  const lists = new Map<number, { value: TypedExpression; constants: Constant[] }>()
  const collect = (operand: TypedExpression) => {
    const constant = constantOf(operand)
    if (isKnown(operand)) others.push(operand)
    else if (operand.kind === 'or') operand.args.forEach(collect)
    else if (operand.kind === 'comparison' && constant !== undefined) {
      const [value] = operand.args
      getOrInsert(lists, numbers.of(value), () => ({ value, constants: [] })).constants.push(constant)
    } else others.push(operand)
  }
  collect(expression)
  return { lists: [...lists.values()], others }
}

/** What an operand compares a value with, for equality. */
function constantOf(operand: TypedExpression): Constant | undefined {
  if (operand.kind !== 'comparison' || operand.op !== '=') return undefined
  const [, right] = operand.args
  return right.kind === 'constant' ? (right.value ?? undefined) : undefined
}

/** The constants as intervals of their places in the order of the type, strings by their numbers; of strings those that a dictionary has. */
function intervalsOf(
  { value: { type }, constants }: ComparedList,
  dictionary: StringDictionary | undefined,
): readonly Interval[] {
  const places: bigint[] = []
  for (const constant of constants) {
    const isText = typeof constant === 'string'
    const place = isText ? dictionary && codeOf(dictionary, constant) : orderedNumber(constant, type)
    if (place !== undefined) places.push(BigInt(place))
  }
  return setOf(places).intervals
}

/** WGSL of whether a value, not null, is one of the constants. */
export function isAmong(code: RowText, value: RowValue, list: ComparedList): string {
  if (value.words < 4) return `${within(code, value, intervalsOf(list, value.dictionary))} != 0u`
  const constants = list.constants.map(BigInt)
  // Those of 64 bits are looked for as such.
  const isShort = (constant: bigint) => BigInt.asIntN(64, constant) === constant
  const lower = code.computed('i64', `${value.value}.xy`)
  const fits = `all(${value.value} == ${code.use('integers128', 'wide_to_128')}(${lower.value}))`
  const { intervals } = setOf(constants.filter(isShort).map((constant) => orderedNumber(constant, 'i64')))
  const others = constants
    .filter((constant) => !isShort(constant))
    .map((constant) => `all(${value.value} == ${code.constant(constantBits(constant, value.type), 4).value})`)
  return [`(${fits} & (${within(code, lower, intervals)} != 0u))`, ...others].join(' | ')
}
