import { restoredNumber } from '../../../gpu/relational/expressions/ordered-numbers.js'
import { complement } from '../../../gpu/relational/expressions/value-sets.js'
import type { Condition, Interval, ValueSet } from '../../../gpu/relational/selection/selection-types.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import { isFloat } from '../../../protocol/query/value-types.js'
import { formatText, hasTexts } from '../../../protocol/value-texts.js'
import { type ColumnDomain, lastValue } from './column-domain.js'

/** Intervals that are written out. */
const SHOWN = 3

/** A condition in words, much as SQL has them. */
export function describeCondition(
  condition: Condition,
  names: readonly string[],
  columns: readonly ColumnDomain[],
): string {
  switch (condition.kind) {
    case 'values':
      return describeSet(names[condition.column]!, condition.set, columns[condition.column]!)
    case 'match': {
      const { column, match, text, negated } = condition
      return `${negated ? 'not ' : ''}${match}(${names[column]}, ${JSON.stringify(text)})`
    }
    case 'any':
      return condition.branches
        .map((branch) => branch.map((part) => describeCondition(part, names, columns)).join(' and '))
        .join(' or ')
    case 'expression':
      return describeExpression(condition.expression, names)
  }
}

function describeSet(name: string, set: ValueSet, domain: ColumnDomain): string {
  const last = lastValue(domain)
  const alternatives = set.intervals
    .slice(0, SHOWN)
    .map((interval) => describeInterval(name, interval, domain))
  if (set.intervals.length > SHOWN) alternatives.push(`${set.intervals.length - SHOWN} more`)
  if (set.nulls) alternatives.push(`${name} is null`)
  const [outside, ...others] = complement(set, last).intervals
  if (!set.nulls && outside === undefined) return `${name} is not null`
  const missesOne = outside !== undefined && others.length === 0 && outside.low === outside.high
  if (missesOne && set.intervals.length === 2) {
    return `${name} <> ${describeValue(outside.low, domain)}${set.nulls ? ` or ${name} is null` : ''}`
  }
  return alternatives.join(' or ')
}

function describeInterval(name: string, { low, high }: Interval, domain: ColumnDomain): string {
  if (low === high) return `${name} = ${describeValue(low, domain)}`
  if (low === 0n) return `${name} ${describeBound(['<=', high], ['<', high + 1n], domain)}`
  if (high >= lastValue(domain)) return `${name} ${describeBound(['>=', low], ['>', low - 1n], domain)}`
  return `${name} between ${describeValue(low, domain)} and ${describeValue(high, domain)}`
}

/** Of floats the form that is the shorter, which is how it was asked for as a rule. */
function describeBound(
  [op, value]: readonly [string, bigint],
  [strict, neighbour]: readonly [string, bigint],
  domain: ColumnDomain,
): string {
  const own = `${op} ${describeValue(value, domain)}`
  const other = `${strict} ${describeValue(neighbour, domain)}`
  return isFloat(domain.type) && other.length < own.length ? other : own
}

function describeValue(value: bigint, { type, dictionary }: ColumnDomain): string {
  if (type === 'string') return JSON.stringify(dictionary?.at(Number(value)) ?? '')
  const number = restoredNumber(value, type)
  if (hasTexts(type)) return formatText(BigInt(number), type)
  return type === 'f32' ? floatText(Number(number)) : String(number)
}

/** As many digits as tell a float from all others. */
function floatText(value: number): string {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return String(short)
  }
  return String(Number(value.toPrecision(9)))
}

function describeExpression(expression: TypedExpression, names: readonly string[]): string {
  const parts = 'args' in expression ? expression.args.map((part) => describeExpression(part, names)) : []
  switch (expression.kind) {
    case 'column':
      return names[expression.index]!
    case 'constant':
      return typeof expression.value === 'string'
        ? JSON.stringify(expression.value)
        : String(expression.value)
    case 'arithmetic':
    case 'comparison':
      return `(${parts.join(` ${expression.op} `)})`
    case 'and':
    case 'or':
      return `(${parts.join(` ${expression.kind} `)})`
    case 'match':
      return `${expression.match}(${parts[0]}, ${JSON.stringify(expression.text)})`
    case 'call':
      return `${expression.function}(${parts.join(', ')})`
    case 'convert':
      return `cast(${parts[0]} as ${expression.type})`
    default:
      return `${expression.kind}(${parts.join(', ')})`
  }
}
