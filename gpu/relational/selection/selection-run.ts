import { WarpdexError } from '../../../protocol/errors.js'
import type { TypedExpression } from '../../../protocol/query/typed.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWord } from '../../primitives/device-count.js'
import { evaluateCondition } from '../expressions/evaluate.js'
import { between } from '../expressions/value-sets.js'
import type { DeviceWork } from '../query/device-work.js'
import { bytesOf, plainColumn, type QueryColumn, ROW_BYTES, valueWords } from '../query/query-column.js'
import { Table } from '../query/table.js'
import type { Emit, Emitted, Wanted } from './emit.js'
import type { Entries, Marked } from './mark.js'
import type { Groups, Test } from './predicate.js'
import {
  type Condition,
  columnsOf,
  type KernelPlan,
  type Selected,
  type SelectionOutput,
  type SelectionPlan,
} from './selection-types.js'
import { anyTest, type MatchBy, type Matching, marksTest, matchTest, valuesTest } from './tests.js'

/** Rows that a selection begins from, such as those that an index gave: each once. The result has their order. */
export interface StartRows {
  readonly buffer: DeviceMemory
  readonly count: number
}

/**
 * Words that a kernel hands on at most before anybody knows how many rows it has left: memory for all that may pass is taken then. Where there
 * may be more, waiting for the count is nothing beside the scan, and memory is taken for what has passed.
 */
export const MOST_UNREAD_WORDS = 2 ** 24

export interface RunOptions {
  /** The rows to begin from; all of them unless given. */
  readonly start?: StartRows | undefined
  /**
   * How strings are matched, by the numbers of conditions. Unless it is said, by the dictionary where that has at most as many strings as rows may
   * come to the condition.
   */
  readonly matchBy?: ReadonlyMap<number, MatchBy> | undefined
  /** `MOST_UNREAD_WORDS` unless given. */
  readonly mostUnreadWords?: number | undefined
}

/** What the kernels of selections are. */
export interface SelectionParts extends Matching {
  readonly emit: Emit
}

interface Request {
  readonly columns: readonly QueryColumn[]
  readonly rows: number
  readonly conditions: readonly Condition[]
  readonly plan: SelectionPlan
  readonly output: SelectionOutput
  readonly options: RunOptions
}

/** What comes to a kernel of a plan. */
interface Rows extends Entries {
  /** The number in the selection of each of these rows; undefined where it is the same. */
  readonly numbers: DeviceMemory | undefined
}

/** What a kernel of a plan gives. Numbers of rows that were handed on as a column are so again, behind the others. */
interface Given extends Wanted {
  /** What columns are in the selection. */
  readonly places: readonly number[]
}

/** One selection. */
export class SelectionRun {
  readonly #parts: SelectionParts
  readonly #work: DeviceWork
  readonly #request: Request
  /** Bytes that each kernel hands on for a row, or gives at last. */
  readonly #handed: number[] = []

  constructor(parts: SelectionParts, work: DeviceWork, request: Request) {
    this.#parts = parts
    this.#work = work
    this.#request = request
  }

  async run(): Promise<Selected> {
    const { columns, rows, plan, output, options } = this.#request
    const { mark } = this.#parts
    const { buffer: list, count: bound = rows } = options.start ?? {}
    let state: Rows = { columns, bound, live: undefined, list, numbers: undefined }
    const left: DeviceWord[] = []
    for (const [i, kernel] of plan.kernels.entries()) {
      const isLast = i === plan.kernels.length - 1
      const groups = await this.#groups(state, kernel)
      if (isLast && output.kind === 'count') {
        left.push(await mark.count(this.#work, state, groups))
        const counts = await this.#work.read(left)
        this.#countMoved(counts)
        return { count: counts[i]!, rows: undefined, columns: [], left: counts }
      }
      const given = this.#given(state, i)
      this.#handed.push(
        given.columns.reduce((sum, column) => sum + bytesOf(column), given.hasRows ? ROW_BYTES : 0),
      )
      this.#parts.emit.prepare(this.#work, state, given)
      const marked = await mark.record(this.#work, state, groups)
      left.push(marked.total)
      if (isLast) return this.#output(state, marked, given, await this.#work.read(left))
      state = await this.#handOn(state, marked, given, kernel.hands)
    }
    throw new WarpdexError('INTERNAL', 'a plan needs a kernel')
  }

  async #groups(state: Rows, kernel: KernelPlan): Promise<Groups> {
    const { conditions } = this.#request
    const groups: Test[][] = []
    for (const group of kernel.groups) {
      const tests: Test[] = []
      for (const number of group) tests.push(await this.#test(state, conditions[number]!, number))
      groups.push(tests)
    }
    return groups
  }

  /** An expression that is too long for a kernel that does anything else: it is evaluated for all entries beforehand. */
  async #evaluated({ bound, live, list, columns }: Rows, expression: TypedExpression): Promise<Test> {
    const work = this.#work
    const rows = list && { buffer: list, outer: false }
    const table = new Table(
      bound,
      columns.map((source) => ({ source, rows })),
    )
    const values = await evaluateCondition(work, table, expression)
    const test = valuesTest(plainColumn('boolean', values), between(1n, 1n))
    const entries = { columns: [], bound, live, list: undefined }
    return marksTest(await this.#parts.mark.bits(work, entries, [[test]]))
  }

  /** @param number of the condition that it is or is a part of */
  async #test(state: Rows, condition: Condition, number: number): Promise<Test> {
    switch (condition.kind) {
      case 'values':
        return valuesTest(state.columns[condition.column]!, condition.set)
      case 'match': {
        const column = state.columns[condition.column]!
        const strings = column.dictionary?.size ?? 0
        const by =
          this.#request.options.matchBy?.get(number) ?? (strings <= state.bound ? 'dictionary' : 'row')
        return matchTest(this.#work, this.#parts, condition, column, by)
      }
      case 'any': {
        const branches: Test[][] = []
        for (const branch of condition.branches) {
          const tests: Test[] = []
          for (const part of branch) tests.push(await this.#test(state, part, number))
          branches.push(tests)
        }
        return anyTest(branches)
      }
      case 'expression':
        return (
          this.#parts.mark.expression(state, condition.expression) ??
          this.#evaluated(state, condition.expression)
        )
    }
  }

  /** What kernel number `i` gives: numbers of rows or values to the next one, or what is wanted in the end. */
  #given(state: Rows, i: number): Given {
    const { plan, conditions, output } = this.#request
    const isLast = i === plan.kernels.length - 1
    if (!isLast && plan.kernels[i]!.hands === 'rows') return { hasRows: true, columns: [], places: [] }
    const later = plan.kernels.slice(i + 1).flatMap(({ groups }) => groups.flat())
    const wanted = output.kind === 'columns' ? output.columns : []
    const needed = [...later.flatMap((number) => columnsOf(conditions[number]!)), ...wanted]
    const places = isLast ? wanted : [...new Set(needed)]
    const columns = places.map((number) => state.columns[number]!)
    if (output.kind !== 'rows') return { hasRows: false, columns, places }
    if (state.numbers === undefined) return { hasRows: true, columns, places }
    return { hasRows: false, columns: [...columns, plainColumn('u32', state.numbers)], places }
  }

  /** What the next kernel begins with. */
  async #handOn(state: Rows, marked: Marked, given: Given, hands: KernelPlan['hands']): Promise<Rows> {
    const words = given.columns.reduce((sum, { type }) => sum + valueWords(type), given.hasRows ? 1 : 0)
    const passed = await this.#passed(state, marked, words)
    const emitted = await this.#parts.emit.record(this.#work, state, marked, passed.bound, given)
    if (hands === 'rows') return { ...state, ...passed, list: emitted.rows }
    const columns: QueryColumn[] = []
    given.places.forEach((number, place) => {
      columns[number] = emitted.columns[place]!
    })
    return { columns, ...passed, list: undefined, numbers: numbersOf(emitted, given) }
  }

  /**
   * How many entries have passed, at most or, where they might take much memory, exactly.
   * @param words that each hands on
   */
  async #passed(
    { bound }: Entries,
    { total }: Marked,
    words: number,
  ): Promise<Pick<Entries, 'bound' | 'live'>> {
    const { mostUnreadWords = MOST_UNREAD_WORDS } = this.#request.options
    if (bound * words <= mostUnreadWords) return { bound, live: total }
    const [count] = await this.#work.read([total])
    return { bound: count!, live: undefined }
  }

  /** Tells what the kernels read and wrote, once it is known how many rows each has left: of those that it looked at the columns of its conditions. */
  #countMoved(left: readonly number[]): void {
    const { plan, conditions, columns, rows, options } = this.#request
    plan.kernels.forEach(({ groups }, i) => {
      const looked = left[i - 1] ?? options.start?.count ?? rows
      const numberBytes = isListed(this.#request, i) ? ROW_BYTES : 0
      const read = new Set(groups.flat().flatMap((number) => columnsOf(conditions[number]!)))
      const rowBytes = [...read].reduce((sum, column) => sum + bytesOf(columns[column]!), numberBytes)
      const written = left[i]! * (this.#handed[i] ?? 0)
      this.#work.moves({ read: looked * rowBytes + written, written })
    })
  }

  async #output(state: Rows, marked: Marked, given: Given, left: readonly number[]): Promise<Selected> {
    const count = left.at(-1)!
    const emitted = await this.#parts.emit.record(this.#work, state, marked, count, given)
    this.#countMoved(left)
    const columns = emitted.columns.slice(0, given.places.length)
    return { count, rows: numbersOf(emitted, given), columns, left }
  }
}

/** Numbers of rows that were written, as the selection has them: by themselves, or as the last column. */
function numbersOf({ rows, columns }: Emitted, { places }: Given): DeviceMemory | undefined {
  return rows ?? columns[places.length]?.values
}

/** Whether a kernel of a plan reads its rows at numbers. */
function isListed({ plan, options }: Request, kernel: number): boolean {
  return kernel === 0 ? options.start !== undefined : plan.kernels[kernel - 1]!.hands === 'rows'
}
