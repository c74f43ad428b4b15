import { type ColumnType, storageOf } from '../../../protocol/column-types.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import type { AggregateFunction } from '../../../protocol/query/tree.js'
import type { TypedAggregate } from '../../../protocol/query/typed.js'
import { ordered } from '../expressions/operators.js'
import type { RowCode } from '../expressions/row-code.js'
import type { RowValue } from '../expressions/row-value.js'
import type { StringDictionary } from '../string-dictionary.js'

/**
 * How words of a state take rows in: as a number of them, a sum of two or three words, of doubles, or as the largest number of one, two or four words. A
 * minimum is the largest complement, so that zeros are the state of no rows.
 */
export type Accumulation = 'count' | 'wide' | 'long' | 'doubles' | 'most' | 'wideMost' | 'most128'

const ATOMIC: readonly Accumulation[] = ['count', 'wide', 'long', 'most']

/** The words that each takes, and the WGSL that makes one of two. */
export const ACCUMULATIONS: Readonly<
  Record<
    Accumulation,
    { readonly words: 1 | 2 | 3 | 4; readonly add: (code: RowCode, a: string, b: string) => string }
  >
> = {
  count: { words: 1, add: (_, a, b) => `${a} + ${b}` },
  most: { words: 1, add: (_, a, b) => `max(${a}, ${b})` },
  wide: { words: 2, add: (code, a, b) => `${code.use('wide', 'add_wide')}(${a}, ${b})` },
  doubles: { words: 4, add: (code, a, b) => `${code.use('doubleSums', 'add_sums')}(${a}, ${b})` },
  wideMost: { words: 2, add: (code, a, b) => `${code.use('sums', 'max_wide')}(${a}, ${b})` },
  most128: { words: 4, add: (code, a, b) => `${code.use('integers128', 'max_128')}(${a}, ${b})` },
  long: { words: 3, add: (code, a, b) => `${code.use('sums', 'add_long')}(${a}, ${b})` },
}

/** By the words of values. */
const MOST = { 1: 'most', 2: 'wideMost', 4: 'most128' } as const

/** Statements that adding a double takes, roughly. */
const DOUBLE_SUM = 100

/** Words of a state. */
export interface Accumulator {
  readonly kind: Accumulation
  /** The first of them. */
  readonly at: number
}

/**
 * WGSL of the words of an accumulator, as one value.
 * @param word gives that of a word of the state
 */
export function wordsOf({ kind, at }: Accumulator, word: (at: number) => string): string {
  const { words } = ACCUMULATIONS[kind]
  const all = Array.from({ length: words }, (_, i) => word(at + i))
  return words === 1 ? all[0]! : `vec${words}u(${all.join(', ')})`
}

/** An aggregate by what its result follows from. */
export interface AggregateState {
  readonly function: AggregateFunction
  /** Of its values; undefined where rows are counted. */
  readonly type: ColumnType | undefined
  readonly dictionary: StringDictionary | undefined
  /** Whether there may be groups without a value. */
  readonly nullable: boolean
  /** How many values there are. */
  readonly count: Accumulator
  /** Their sum or extreme. */
  readonly result: Accumulator
  /** The sum of their squares, where that is needed. */
  readonly squares: Accumulator | undefined
  /** Of values of 128 bits the sum of their upper halves; `result` is that of their lower ones. */
  readonly upper: Accumulator | undefined
}

/** The first word of every state counts its rows. */
const ROWS: Accumulator = { kind: 'count', at: 0 }

/** Words that aggregates are accumulated in. Aggregates share what they have in common. */
export class AggregateStates {
  readonly aggregates: readonly AggregateState[]
  readonly #accumulators: Accumulator[] = [ROWS]
  /** Of each value those that take it in, by what they take of it, with the WGSL of that. */
  readonly #inputs = new Map<RowValue, Map<string, { readonly to: Accumulator; readonly part: string }>>()

  /**
   * @param code has what computes the aggregates' values added
   * @param hasKeys whether there are no groups without rows
   */
  constructor(aggregates: readonly TypedAggregate[], code: RowCode, hasKeys: boolean) {
    this.aggregates = aggregates.map((aggregate) => this.#stateOf(aggregate, code, hasKeys))
  }

  get accumulators(): readonly Accumulator[] {
    return this.#accumulators
  }

  get words(): number {
    const { kind, at } = this.#accumulators.at(-1)!
    return at + ACCUMULATIONS[kind].words
  }

  /** Whether atomic operations on words can accumulate all of it. */
  get isAtomic(): boolean {
    return this.#accumulators.every(({ kind }) => ATOMIC.includes(kind))
  }

  /**
   * Adds statements that take a row in.
   * @param add the statement that adds a WGSL value of as many words to an accumulator's
   */
  emit(code: RowCode, add: (to: Accumulator, value: string) => string): void {
    code.emit(add(ROWS, '1u'))
    for (const [value, parts] of this.#inputs) {
      const { valid } = code.noted(value)
      const adds = Array.from(parts.values(), ({ to, part }) => add(to, part))
      code.emit(...(valid === undefined || adds.length === 0 ? adds : [`if (${valid}) {`, ...adds, '}']))
    }
  }

  #stateOf({ function: fn, value: expression }: TypedAggregate, code: RowCode, hasKeys: boolean) {
    const rows = {
      function: fn,
      type: undefined,
      dictionary: undefined,
      nullable: false,
      squares: undefined,
      upper: undefined,
    }
    if (expression === undefined) return { ...rows, count: ROWS, result: ROWS }
    const value = code.value(expression)
    if (!this.#inputs.has(value)) this.#inputs.set(value, new Map())
    const { type, dictionary, valid } = value
    const count = valid === undefined ? ROWS : this.#accumulator(value, 'count', 'count', () => '1u')
    if (fn === 'count') return { ...rows, type, count, result: count }
    const nullable = valid !== undefined || !hasKeys
    const isExtreme = fn === 'min' || fn === 'max'
    const result = isExtreme ? this.#extreme(value, fn, code) : this.#sum(value, code)
    const squares = fn === 'stddev' || fn === 'variance' ? this.#squares(value, code) : undefined
    const upper = isExtreme || value.words < 4 ? undefined : this.#upper(value, code)
    return { function: fn, type, dictionary, nullable, count, result, squares, upper }
  }

  #extreme(value: RowValue, fn: 'min' | 'max', code: RowCode): Accumulator {
    return this.#accumulator(value, fn, MOST[value.words], () => {
      const most = ordered(code, value).value
      return fn === 'max' ? most : `~${most}`
    })
  }

  /** Integers of 32 bits have sums of 64, which no 2^32 rows leave; those of 64 bits are added up in 96, and both halves of those of 128. Doubles are added up in 112 bits. */
  #sum(value: RowValue, code: RowCode): Accumulator {
    const { type, value: own } = value
    switch (storageOf(type)) {
      case 'u32':
        return this.#accumulator(value, 'sum', 'wide', () => `vec2u(${own}, 0u)`)
      case 'i32':
        return this.#accumulator(value, 'sum', 'wide', () => `${code.use('values', 'extended')}(${own})`)
      case 'u64':
        return this.#accumulator(value, 'sum', 'long', () => `vec3u(${own}, 0u)`)
      case 'i64':
        return this.#accumulator(value, 'sum', 'long', () => `${code.use('sums', 'extended_wide')}(${own})`)
      case 'i128':
        return this.#accumulator(value, 'sum', 'long', () => `vec3u(${own}.xy, 0u)`)
      case 'f64':
        code.weigh(DOUBLE_SUM)
        return this.#accumulator(
          value,
          'sum',
          'doubles',
          () => `${code.use('doubleSums', 'sum_of_double')}(${own})`,
        )
      default:
        throw new WarpdexError('INTERNAL', `there is no sum of ${type}`)
    }
  }

  #upper(value: RowValue, code: RowCode): Accumulator {
    const upper = () => `${code.use('sums', 'extended_wide')}(${value.value}.zw)`
    return this.#accumulator(value, 'upper', 'long', upper)
  }

  #squares(value: RowValue, code: RowCode): Accumulator {
    code.weigh(2 * DOUBLE_SUM)
    const square = () => `${code.use('doubleSums', 'square_of_double')}(${value.value})`
    return this.#accumulator(value, 'squares', 'doubles', square)
  }

  #accumulator(value: RowValue, of: string, kind: Accumulation, part: () => string): Accumulator {
    const add = () => {
      const to = { kind, at: this.words }
      this.#accumulators.push(to)
      return { to, part: part() }
    }
    return getOrInsert(this.#inputs.get(value)!, of, add).to
  }
}
