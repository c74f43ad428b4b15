import { WarpdexError } from '../../../protocol/errors.js'
import { type Field, fieldOf, type TupleLayout, WORD } from './attributes.js'

/** An attribute compared with a constant. */
export interface Comparison {
  readonly attribute: string
  readonly operator: '=' | '<>' | '<' | '<=' | '>' | '>='
  /** 0 to 2^32 - 1. */
  readonly constant: number
}

/** All of them must hold; none hold always. */
export type Predicate = readonly Comparison[]

/** A comparison as kernels evaluate it: whether the field is from `low` to `low + span`, or whether it is not. */
export interface Term {
  readonly field: Field
  readonly low: number
  readonly span: number
  readonly negated: boolean
}

const LARGEST = 0xffff_ffff

/** The least and the largest number for which a comparison holds, and whether it holds for all others instead. */
const RANGES: Readonly<
  Record<
    Comparison['operator'],
    (constant: number) => readonly [low: number, high: number, negated?: boolean]
  >
> = {
  '=': (constant) => [constant, constant],
  '<>': (constant) => [constant, constant, true],
  '<': (constant) => [0, constant - 1],
  '<=': (constant) => [0, constant],
  '>': (constant) => [constant + 1, LARGEST],
  '>=': (constant) => [constant, LARGEST],
}

/** @throws WarpdexError `BAD_REQUEST` if an attribute does not exist or a constant is no u32 */
export function termsOf(layout: TupleLayout, predicate: Predicate): Term[] {
  return predicate.map(({ attribute, operator, constant }) => {
    if (!Number.isInteger(constant) || constant < 0 || constant > LARGEST) {
      throw new WarpdexError('BAD_REQUEST', `${constant} is no whole number from 0 to 2^32 - 1`)
    }
    const field = fieldOf(layout, attribute)
    const [low, high, negated = false] = RANGES[operator](constant)
    // What no number satisfies is what not all of them do.
    if (low > high) return { field, low: 0, span: LARGEST, negated: true }
    return { field, low, span: high - low, negated }
  })
}

/** A term as three words of parameters; `select.wesl` takes them apart. */
export function termWords({ field, low, span, negated }: Term): readonly number[] {
  const { word, shift, bits } = field
  return [word | (shift << 2) | ((negated ? 1 : 0) << 7) | (bits << 8), low, span]
}

/** Whether a term looks at the payload. */
export function readsPayload({ field }: Term): boolean {
  return field.word >= WORD.payloadLow
}
