import type { MatchKind } from '../../../protocol/query/tree.js'

/**
 * What a generated predicate reads beside its arguments: values of one word or two, bits by row (a validity), by entry or by value, or the texts
 * of a dictionary.
 */
export type SourceKind = 'word' | 'wide' | 'bits' | 'marks' | 'table' | 'texts'

/** A test as far as a kernel's text depends on it. Sources are their numbers; `at` is where its arguments begin. */
export type TestShape =
  /** The answer is an argument; where there is no value it is the next one. */
  | { readonly kind: 'fixed'; readonly at: number; readonly validity: number | undefined }
  | {
      readonly kind: 'interval' | 'intervals' | 'table'
      readonly at: number
      /** How many of the kind `interval` there are, one after the other. */
      readonly count: number
      readonly values: number
      readonly float: boolean
      /** The answer for nulls follows the other arguments. */
      readonly validity: number | undefined
    }
  | {
      readonly kind: 'text'
      readonly match: MatchKind
      readonly at: number
      readonly texts: number
      /** Undefined where an entry's number is the value. */
      readonly values: number | undefined
      readonly validity: number | undefined
    }
  /** The bit of a value. */
  | {
      readonly kind: 'lookUp'
      readonly table: number
      readonly values: number
      readonly validity: number | undefined
    }
  /** Whether other kernels have marked the entry. */
  | { readonly kind: 'marked'; readonly marks: number }
  | { readonly kind: 'any'; readonly branches: readonly (readonly TestShape[])[] }

/** What a predicate's text depends on. */
export interface PredicateShape {
  readonly sources: readonly SourceKind[]
  /** Whether entries are those of a list. */
  readonly listed: boolean
  readonly groups: readonly (readonly TestShape[])[]
}

/** Words of the arguments of a test of values, without the answer for nulls. */
export function testWords(kind: 'interval' | 'intervals' | 'table', wide: boolean): number {
  if (kind === 'interval') return wide ? 4 : 2
  return wide ? 4 : 3
}
