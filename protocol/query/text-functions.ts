import { castText } from './cast-texts.js'
import { type Constant, nullOf, text } from './constants.js'
import { type Call, called, type FunctionRule } from './function-rule.js'
import type { TextFunction } from './tree.js'
import type { TypedExpression } from './typed.js'
import { converted } from './value-types.js'

/** Of `substring` a place in a string at most, either way. */
const FARTHEST = 2n ** 32n - 1n

/** Texts that are put together at most: each is a step of its own. */
const MOST_JOINED = 32

/** In the other case as far as a character has one that is one character. */
const OTHER_CASE: FunctionRule = {
  takes: [1, 1],
  check: (call) => called({ ...call, args: [textOf(call, call.args[0]!)] }, 'string'),
}

export const TEXT_RULES: Readonly<Record<TextFunction, FunctionRule>> = {
  /** In characters. */
  length: {
    takes: [1, 1],
    check: (call) => called({ ...call, args: [textOf(call, call.args[0]!)] }, 'i64'),
  },
  upper: OTHER_CASE,
  lower: OTHER_CASE,
  /** From a character on, the first being 1 and the last -1, as many as a length says, or all: both are constants. */
  substring: {
    takes: [2, 3],
    check: (call) => {
      const [value, ...places] = call.args
      return called(
        { ...call, args: [textOf(call, value!), ...places.map((place) => placeOf(call, place))] },
        'string',
      )
    },
  },
  /** Null if one of them is. */
  '||': { takes: [1, MOST_JOINED], check: (call) => joined(call) },
  /** Without those that are null. */
  concat: {
    takes: [1, MOST_JOINED],
    check: (call) => joined({ ...call, args: [...call.args, text('')] }, false),
  },
}

function joined(call: Call, nullable?: boolean): TypedExpression {
  return call.args
    .map(textCast)
    .reduce((left, right) => called({ ...call, args: [left, right] }, 'string', nullable))
}

function textOf({ reader, name }: Call, value: TypedExpression): TypedExpression {
  if (value.type === 'string' || value.type === 'boolean') return textCast(value)
  throw reader.fault(`"${name}" needs strings, not ${value.type}; a cast makes some`)
}

/** A value as a string. */
export function textCast(value: TypedExpression): TypedExpression {
  const { type, nullable } = value
  if (value.kind === 'constant') return constantText(value)
  return type === 'string' ? value : { kind: 'convert', args: [value], type: 'string', nullable }
}

function constantText({ value, type }: Constant): TypedExpression {
  if (value === null) return nullOf('string')
  return text(typeof value === 'string' ? value : castText(value, type))
}

function placeOf({ reader, name }: Call, value: TypedExpression): TypedExpression {
  const place = value.kind === 'constant' ? converted(value, 'i64') : undefined
  const number = place?.kind === 'constant' ? place.value : undefined
  if (place !== undefined && typeof number === 'bigint' && -FARTHEST <= number && number <= FARTHEST)
    return place
  throw reader.fault(`where "${name}" begins, and its length, are whole constants of 32 bits`)
}
