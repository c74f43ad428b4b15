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

/**
 * A comparison as kernels evaluate it: with the field moved to the top of its word, it holds where the word is from `first` to
 * `first + span`, going on at 0 behind the largest. What lies below the field is then of no matter.
 */
export interface Term {
  readonly field: Field
  readonly first: number
  readonly span: number
}

/** Terms that a dispatch evaluates: its parameters have room for no more. */
export const MOST_TERMS = 4

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

/**
 * The terms that all must hold; undefined where some comparison never holds. Those that always hold are left out.
 * @throws WarpdexError `BAD_REQUEST` if an attribute does not exist or a constant is no u32
 */
export function termsOf(layout: TupleLayout, predicate: Predicate): readonly Term[] | undefined {
  const terms: Term[] = []
  let isPossible = true
  for (const { attribute, operator, constant } of predicate) {
    if (!Number.isInteger(constant) || constant < 0 || constant > LARGEST) {
      throw new WarpdexError('BAD_REQUEST', `${constant} is no whole number from 0 to 2^32 - 1`)
    }
    const field = fieldOf(layout, attribute)
    const [low, high, negated = false] = RANGES[operator](constant)
    const values = 2 ** field.bits
    const within = Math.max(0, Math.min(high, values - 1) - low + 1)
    const [first, count] = negated ? [low + within, values - within] : [low, within]
    isPossible &&= count > 0
    // Of each number of the field there are as many words as what lies below it has values.
    const words = 2 ** (32 - field.bits)
    if (count < values) terms.push({ field, first: (first * words) >>> 0, span: count * words - 1 })
  }
  return isPossible ? terms : undefined
}

/** At most `MOST_TERMS` terms as words of parameters; `select-terms.wesl` takes them apart. */
export function termWords(terms: readonly Term[]): readonly number[] {
  const words = terms.flatMap(({ field: { word, shift, bits }, first, span }) => [
    word | ((32 - bits - shift) << 2),
    first,
    span,
  ])
  const holdsAlways = [0, 0, LARGEST]
  return [...words, ...Array.from({ length: MOST_TERMS - terms.length }, () => holdsAlways).flat()]
}

/** Whether a term looks at the payload. */
export function readsPayload({ field }: Term): boolean {
  return field.word >= WORD.payloadLow
}
