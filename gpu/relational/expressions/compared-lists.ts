import { columnWords } from '../../../protocol/column-types.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import type { ConstantValue, TypedExpression } from '../../../protocol/query/typed.js'
import { codeOf } from '../query/dictionaries.js'
import type { StringDictionary } from '../string-dictionary.js'
import type { ExpressionNumbers } from './expression-numbers.js'
import { orderedNumber } from './ordered-numbers.js'
import { type Interval, setOf } from './value-sets.js'

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

/** What an operand compares a value with, for equality; undefined for values of 128 bits, too. */
function constantOf(operand: TypedExpression): Constant | undefined {
  if (operand.kind !== 'comparison' || operand.op !== '=') return undefined
  const [left, right] = operand.args
  return right.kind === 'constant' && columnWords(left.type) < 4 ? (right.value ?? undefined) : undefined
}

/** The constants as intervals of their places in the order of the type, strings by their numbers; of strings those that a dictionary has. */
export function intervalsOf(
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
