import type { ConstantValue, TypedExpression } from '../../../protocol/query/typed.js'
import { codeOf } from '../query/dictionaries.js'
import { valueWords } from '../query/query-column.js'
import type { StringDictionary } from '../string-dictionary.js'
import { constantBits, orderedFloat } from './constant-bits.js'
import type { ExpressionNumbers } from './expression-numbers.js'

type Constant = Exclude<ConstantValue, null>

/** A value, and constants of which it equals one. */
export interface ComparedList {
  readonly value: TypedExpression
  readonly constants: readonly Constant[]
}

/** So many comparisons of a value are written out one by one. */
const FEW = 4

/**
 * The operands of `or`s within each other, where many compare one value with constants: as `in` does.
 * @param isKnown whether an operand need not be taken apart
 */
export function comparedLists(
  expression: TypedExpression,
  numbers: ExpressionNumbers,
  isKnown: (operand: TypedExpression) => boolean,
): { readonly lists: readonly ComparedList[]; readonly others: readonly TypedExpression[] } {
  const others: TypedExpression[] = []
  const compared = new Map<
    number,
    { value: TypedExpression; constants: Constant[]; operands: TypedExpression[] }
  >()
  const collect = (operand: TypedExpression) => {
    if (operand.kind === 'or' && !isKnown(operand)) {
      operand.args.forEach(collect)
      return
    }
    const constant = constantOf(operand)
    if (operand.kind !== 'comparison' || constant === undefined) {
      others.push(operand)
      return
    }
    const [value] = operand.args
    const number = numbers.of(value)
    const list = compared.get(number) ?? { value, constants: [], operands: [] }
    compared.set(number, list)
    list.constants.push(constant)
    list.operands.push(operand)
  }
  collect(expression)
  const lists = [...compared.values()].filter(({ operands }) => operands.length > FEW)
  for (const { operands } of compared.values()) if (operands.length <= FEW) others.push(...operands)
  return { lists, others }
}

/** What an operand compares a value with, for equality. */
function constantOf(operand: TypedExpression): Constant | undefined {
  if (operand.kind !== 'comparison' || operand.op !== '=') return undefined
  const [, right] = operand.args
  return right.kind === 'constant' ? (right.value ?? undefined) : undefined
}

/** The constants as words in ascending order, floats as `ordered_float` has them, strings by their numbers; of strings those that a dictionary has. */
export function sortedConstants(
  { value: { type }, constants }: ComparedList,
  dictionary: StringDictionary | undefined,
): { readonly words: Uint32Array; readonly count: number } {
  const bits = new Set<bigint>()
  for (const constant of constants) {
    const known = typeof constant === 'string' ? dictionary && codeOf(dictionary, constant) : undefined
    if (typeof constant !== 'string')
      bits.add(type === 'f32' ? orderedFloat(Number(constant)) : constantBits(constant, type))
    else if (known !== undefined) bits.add(BigInt(known))
  }
  const sorted = BigUint64Array.from(bits).sort()
  const count = sorted.length
  if (valueWords(type) === 2) return { words: new Uint32Array(sorted.buffer), count }
  return { words: Uint32Array.from(sorted, Number), count }
}

/** The text of a WGSL function that looks for a value among so many sorted ones from a place of `tables` on. */
export const FIND_WORD = {
  name: 'has_word',
  text: `fn has_word(value: u32, first: u32, count: u32) -> bool {
  var low = 0u;
  var high = count;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (tables[first + middle] < value) { low = middle + 1u; } else { high = middle; }
  }
  return low < count && tables[first + low] == value;
}`,
} as const

/** The same of values of two words. */
export const FIND_WIDE = {
  name: 'has_wide',
  text: `fn wide_at(place: u32) -> vec2u { return vec2u(tables[place], tables[place + 1u]); }
fn has_wide(value: vec2u, first: u32, count: u32) -> bool {
  var low = 0u;
  var high = count;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (less_wide(wide_at(first + 2u * middle), value)) { low = middle + 1u; } else { high = middle; }
  }
  return low < count && all(wide_at(first + 2u * low) == value);
}`,
} as const
