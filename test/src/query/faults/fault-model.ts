import { INTEGER_RANGES } from '../../../../protocol/query/integer-ranges.js'
import type { TypedExpression } from '../../../../protocol/query/typed.js'
import type { Cell } from '../host-relation.js'

/** A result that does not fit its type: it stands for anything. */
export const FAULT = Symbol('fault')
export type Outcome = Cell | typeof FAULT

type Truth = boolean | null
const TRUTHS: readonly Truth[] = [true, false, null]

/** What a truth may be, whatever each of the faults in it stands for: by trying all of them, which the product knows nothing of. */
function truthsOf(expression: TypedExpression, row: readonly Cell[]): ReadonlySet<Truth> {
  const outcomes = new Set<Truth>()
  const chosen: number[] = []
  for (let more = true; more; ) {
    let used = 0
    const guess = (choices: readonly Truth[]) => {
      if (used === chosen.length) chosen.push(0)
      return choices[chosen[used++]!]!
    }
    outcomes.add(truth(expression, row, guess))
    while (chosen.length > 0 && chosen.at(-1) === TRUTHS.length - 1) chosen.pop()
    more = chosen.length > 0
    if (more) chosen[chosen.length - 1]!++
  }
  return outcomes
}

/** Whether a `where` gives a row, or the row is a fault. */
export function isGiven(condition: TypedExpression, row: readonly Cell[]): boolean | typeof FAULT {
  const truths = truthsOf(condition, row)
  if (!truths.has(true)) return false
  return truths.size === 1 ? true : FAULT
}

type Guess = (choices: readonly Truth[]) => Truth

/** What a truth is, if each fault is what it is guessed to be. */
function truth(expression: TypedExpression, row: readonly Cell[], guess: Guess): Truth {
  switch (expression.kind) {
    case 'and':
    case 'or': {
      const decisive = expression.kind === 'or'
      // Both sides are guessed: no guess of one hangs on what the other is.
      const sides = expression.args.map((argument) => truth(argument, row, guess))
      if (sides.includes(decisive)) return decisive
      return sides.includes(null) ? null : !decisive
    }
    case 'not': {
      const inner = truth(expression.args[0], row, guess)
      return inner === null ? null : !inner
    }
    case 'choose': {
      const [condition, value, otherwise] = expression.args
      const given = isGiven(condition, row)
      return given === FAULT ? guess(TRUTHS) : truth(given ? value : otherwise, row, guess)
    }
    default: {
      const value = leaf(expression, row)
      return value === FAULT ? guess(TRUTHS) : (value as Truth)
    }
  }
}

/** What an expression of any type is for a row. */
export function outcomeOf(expression: TypedExpression, row: readonly Cell[]): Outcome {
  if (expression.type !== 'boolean') return leaf(expression, row)
  const [only, ...others] = truthsOf(expression, row)
  return others.length === 0 ? only! : FAULT
}

function leaf(expression: TypedExpression, row: readonly Cell[]): Outcome {
  switch (expression.kind) {
    case 'column':
      return row[expression.index]!
    case 'constant':
      return expression.value
    case 'choose': {
      const given = isGiven(expression.args[0], row)
      return given === FAULT ? FAULT : outcomeOf(expression.args[given ? 1 : 2], row)
    }
    case 'isNull': {
      const inner = outcomeOf(expression.args[0], row)
      return inner === FAULT ? FAULT : inner === null
    }
    case 'convert': {
      const inner = outcomeOf(expression.args[0], row)
      return inner === null || inner === FAULT ? inner : fitting(BigInt(inner as bigint), expression.type)
    }
    case 'comparison':
    case 'arithmetic': {
      const [a, b] = expression.args.map((argument) => outcomeOf(argument, row))
      if (a === null || b === null) return null
      if (a === FAULT || b === FAULT) return FAULT
      return expression.kind === 'comparison'
        ? compare(expression.op, a!, b!)
        : fitting(calculate(expression.op, BigInt(a as bigint), BigInt(b as bigint)), expression.type)
    }
    default:
      throw new Error(`the model has no ${expression.kind}`)
  }
}

function fitting(value: bigint, type: TypedExpression['type']): Outcome {
  const [least, most] = INTEGER_RANGES[type]!
  if (value < least || value > most) return FAULT
  return type === 'u32' || type === 'i32' ? Number(value) : value
}

function calculate(op: '+' | '-' | '*' | '/', a: bigint, b: bigint): bigint {
  if (op === '/') throw new Error('the model has no quotients')
  return op === '+' ? a + b : op === '-' ? a - b : a * b
}

function compare(op: '=' | '<>' | '<' | '<=' | '>' | '>=', a: Outcome, b: Outcome): boolean {
  const [x, y] = [Number(a), Number(b)]
  // Integers past 2^53 are compared as they are.
  const order = typeof a === 'boolean' ? x - y : Number(BigInt(a as bigint) - BigInt(b as bigint))
  if (op === '=' || op === '<>') return (order === 0) === (op === '=')
  return op.startsWith('<')
    ? order < 0 || (op === '<=' && order === 0)
    : order > 0 || (op === '>=' && order === 0)
}
