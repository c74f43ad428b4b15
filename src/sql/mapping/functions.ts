import {
  ARITHMETIC,
  type ArithmeticOp,
  DATE_PARTS,
  DATE_UNITS,
  type Expression,
  type FunctionName,
  type MatchKind,
  NUMBER_FUNCTIONS,
  TEXT_FUNCTIONS,
} from '../../../protocol/query/tree.js'
import type { PlanExpression, PlanInterval } from '../plan-json.js'
import { conjunction, refused } from './mapping.js'
import { planTypeOf } from './types.js'

/** Functions that are the same here, by their names in plans. */
const SAME: Readonly<Record<string, FunctionName>> = {
  ...Object.fromEntries([...NUMBER_FUNCTIONS, ...TEXT_FUNCTIONS].map((name) => [name, name])),
  '@': 'abs',
  mod: '%',
  ceiling: 'ceil',
  len: 'length',
  ucase: 'upper',
  lcase: 'lower',
  substr: 'substring',
  ...Object.fromEntries(DATE_PARTS.map((part) => [part.toLowerCase(), part])),
  dow: 'dayOfWeek',
  doy: 'dayOfYear',
  dayofmonth: 'day',
}

/** Functions that look for a constant text. */
const SEARCHES: Readonly<Record<string, MatchKind>> = {
  prefix: 'startsWith',
  starts_with: 'startsWith',
  '^@': 'startsWith',
  suffix: 'endsWith',
  ends_with: 'endsWith',
  contains: 'contains',
  '~~': 'like',
  like_escape: 'like',
}

const OPPOSITES: Readonly<Record<string, string>> = { '!~~': '~~', not_like_escape: 'like_escape' }

/** Functions that go by a name, those with two names by each. */
const KNOWN: readonly string[] = [
  ...new Set([...Object.keys(SAME), ...Object.keys(SEARCHES), 'left', 'date_trunc', 'coalesce']),
].filter((name) => /^[a-z_]+$/.test(name) && name !== 'like_escape')

/** Operators that plans have by signs that nobody writes. */
const WRITTEN: Readonly<Record<string, string>> = {
  '~~': 'like',
  like_escape: 'like',
  '~~*': 'ilike',
  '!~~*': 'not ilike',
  '~~~': 'glob',
}

function titleOf(name: string): string {
  return WRITTEN[name] ?? name
}

/**
 * A call of a function.
 * @param children its arguments
 * @param map maps one of them
 * @throws WarpdexError `BAD_REQUEST` for one that there is not
 */
export function functionOf(
  name: string,
  children: readonly PlanExpression[],
  map: (child: PlanExpression) => Expression,
): Expression {
  const opposite = OPPOSITES[name]
  if (opposite !== undefined) return { op: 'not', args: [functionOf(opposite, children, map)] }
  const interval = children.findIndex((child) => planTypeOf(child).id === 'INTERVAL')
  if (interval >= 0) return moved(name, map(children[1 - interval]!), children[interval]!)
  const args = children.map(map)
  const search = SEARCHES[name]
  if (search !== undefined) {
    const escaped = children[2] && { escape: textOf(name, children[2]) }
    return { op: search, args: [args[0]!], text: textOf(name, children[1]), ...escaped }
  }
  if (name === 'constant_or_null') {
    const [value, ...others] = args
    const known = others.map((other): Expression => ({ op: 'not', args: [{ op: 'isNull', args: [other] }] }))
    return { op: 'case', when: [{ condition: conjunction(known), value: value! }] }
  }
  const same = SAME[name]
  if (same !== undefined) return { op: same, args }
  if (isArithmetic(name)) return arithmeticOf(name, args)
  if (name === 'left') return { op: 'substring', args: [args[0]!, { value: 1 }, args[1]!] }
  if (name === 'date_trunc') return { op: 'dateTrunc', args: [unitOf(args[0]!), args[1]!] }
  if (!/^\w/.test(name)) throw refused(`the operator ${titleOf(name)}`)
  throw refused(`the function ${name}`, `the functions are ${KNOWN.join(', ')}`)
}

function arithmeticOf(op: ArithmeticOp, args: readonly Expression[]): Expression {
  const [first, second] = args
  if (first !== undefined && second !== undefined) return { op, args: [first, second] }
  return op === '-' ? { op: 'negate', args } : args[0]!
}

/** A moment moved by an interval, as a timestamp: by its months first, then by its days. */
function moved(op: string, moment: Expression, interval: PlanExpression): Expression {
  const value = interval.expression_class === 'BOUND_CONSTANT' ? interval.value.value : undefined
  if (!isInterval(value) || (op !== '+' && op !== '-'))
    throw refused('an interval that is computed', 'constant ones are added to dates and timestamps')
  const sign = op === '-' ? -1 : 1
  const steps = [
    ['addMonths', value.months],
    ['addDays', value.days],
    ['addMicroseconds', Number(value.micros)],
  ] as const
  return steps
    .filter(([, amount]) => amount !== 0)
    .reduce<Expression>((moved, [op, amount]) => ({ op, args: [moved, { value: sign * amount }] }), {
      op: 'cast',
      args: [moment],
      type: 'timestamp',
    })
}

function isInterval(value: unknown): value is PlanInterval {
  return typeof value === 'object' && value !== null && 'months' in value
}

/** The constant text that a function looks for. */
function textOf(name: string, expression: PlanExpression | undefined): string {
  if (expression?.expression_class === 'BOUND_CONSTANT' && !expression.value.is_null)
    return String(expression.value.value)
  throw refused(`${titleOf(name)} with a text that is not a constant`)
}

function unitOf(unit: Expression): Expression {
  const name = 'value' in unit ? String(unit.value).toLowerCase() : ''
  const known = DATE_UNITS.find((each) => each === name)
  if (known === undefined) throw refused(`date_trunc of ${name}`, `the units are ${DATE_UNITS.join(', ')}`)
  return { value: known }
}

function isArithmetic(name: string): name is ArithmeticOp {
  return ARITHMETIC.some((op) => op === name)
}
