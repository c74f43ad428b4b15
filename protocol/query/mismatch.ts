import type { ResultColumn } from './tree.js'
import type { TypedExpression } from './typed.js'
import { isInteger, isNumeric } from './value-types.js'

/** What is to be done where types differ, as the end of a message: casts are between numbers only. */
export function castAdvice(types: readonly ResultColumn['type'][], advice: string): string {
  return types.every(isNumeric) ? `; ${advice}` : ''
}

/** Why values that must have one type have none, as the end of a message. */
export function mismatch(values: readonly TypedExpression[], columns: readonly ResultColumn[]): string {
  const types = values.map(({ type }) => type)
  if (types.every(isNumeric)) return castAdvice(types, 'a cast makes them alike')
  return `: ${values.map((value) => `${named(value, columns)} is ${value.type}`).join(', ')}`
}

function named(value: TypedExpression, columns: readonly ResultColumn[]): string {
  if (value.kind === 'column') return `column "${columns[value.index]!.name.slice(0, 80)}"`
  if (value.kind !== 'constant') return `what ${value.kind} gives`
  const text = typeof value.value === 'string' ? JSON.stringify(value.value) : String(value.value)
  return `the constant ${text.slice(0, 80)}`
}

/** Whether a constant that has lost digits meets integers, which have all of theirs. */
export function hasLostDigits(values: readonly TypedExpression[]): boolean {
  const isInexact = values.some((value) => value.kind === 'constant' && value.isInexact)
  return isInexact && values.some(({ type }) => isInteger(type))
}
