import type { TypedAggregate, TypedExpression } from '../../../protocol/query/typed.js'
import { RowCode } from '../expressions/row-code.js'
import type { DeviceWork } from '../query/device-work.js'
import type { Table, TableColumn } from '../query/table.js'
import { ACCUMULATIONS, type Accumulator, AggregateStates } from './aggregate-states.js'

/** Rows that are grouped. */
export interface GroupedRows {
  readonly table: Table
  /** Only rows that it holds for belong to groups. */
  readonly condition: TypedExpression | undefined
}

/** A plan of a pass over rows: the text of the module `plan`, and what it accumulates in. */
export interface GroupPlan {
  readonly text: string
  readonly code: RowCode
  readonly states: AggregateStates
  /** Whether a condition or a value may be a fault. */
  readonly isFallible: boolean
}

/** The buffer of the step's faults, if a pass may have some. */
export function faultsOf(work: DeviceWork, { isFallible }: GroupPlan): GPUBuffer | undefined {
  work.mayHaveFault ||= isFallible
  return isFallible ? work.faults : undefined
}

/** The first binding of what is generated. */
export const FIRST_BINDING = 6

const LIBRARIES = [
  'import package::relational::group::faults::{note_condition, note_fault};',
  'import package::relational::group::sums::{add_floats, add_long, add_words, extended_wide, extended_word, max_wide};',
  'import package::relational::expressions::wide::add_wide;',
]

const VECTORS = { 1: '', 2: 'vec2u', 3: 'vec3u' } as const

/**
 * States as values, for `reduce-groups.wesl`. Of count(*) and sum(x), where x is an u32 that is never null:
 *
 *   struct State { w0: u32, w1: u32, w2: u32, }
 *   fn with_row(state: State, row: u32) -> State {
 *     var s = state;
 *     let v0 = source0[row];
 *     s.w0 = add_words(s.w0, 1u);
 *     { let t = add_wide(vec2u(s.w1, s.w2), vec2u(v0, 0u)); s.w1 = t.x; s.w2 = t.y; }
 *     return s;
 *   }
 *   fn combined(a: State, b: State) -> State { … }        the same with what b has
 */
export function statePlan(
  rows: GroupedRows,
  aggregates: readonly TypedAggregate[],
  hasKeys: boolean,
): GroupPlan {
  const { code, isFallible } = rowCode(rows, 's')
  const states = new AggregateStates(aggregates, code, hasKeys)
  const members = Array.from({ length: states.words }, (_, i) => `w${i}: u32,`)
  const row = states.statements(addToState)
  const both = states.accumulators.map((to) => addToState(to, wordsOf('b', to)))
  const text = [
    ...LIBRARIES,
    code.imports,
    code.declarations,
    `struct State { ${members.join(' ')} }`,
    'fn with_row(state: State, row: u32) -> State {',
    '  var s = state;',
    `  ${code.statements}`,
    ...row,
    '  return s;',
    '}',
    'fn combined(a: State, b: State) -> State {',
    '  var s = a;',
    ...both,
    '  return s;',
    '}',
  ]
  return { text: text.join('\n'), code, states, isFallible: isFallible || states.isFallible }
}

/** A key of few values: their ordered forms differ from `common` by the numbers below `size`; behind these comes a null, if there may be one. */
export interface SlotKey {
  readonly column: TableColumn
  readonly size: number
  readonly common: bigint
  readonly nullable: boolean
}

/** How many groups there may be. */
export function slotsOf(keys: readonly SlotKey[]): number {
  return keys.reduce((product, { size, nullable }) => product * (nullable ? size + 1 : size), 1)
}

/**
 * States as words of slots, for `slot-groups.wesl`. Of the same aggregates, by a key of 3 values:
 *
 *   fn add_row(row: u32) {
 *     let v0 = source0[row];
 *     let v1 = source1[row];
 *     var slot = 0u;
 *     slot = slot * args[0u] + v1;
 *     let at = slot * 3u;
 *     accumulate_count(at + 0u, 1u);
 *     accumulate_wide(at + 1u, vec2u(v0, 0u));
 *   }
 *   fn merge_slot(at: u32) { … }
 */
export function slotPlan(
  rows: GroupedRows,
  aggregates: readonly TypedAggregate[],
  keys: readonly SlotKey[],
): GroupPlan {
  const { code, isFallible } = rowCode(rows, undefined)
  const slots = keys.map((key) => addDigit(code, key))
  const states = new AggregateStates(aggregates, code, true)
  const row = states.statements(({ kind, at }, value) => `accumulate_${kind}(at + ${at}u, ${value});`)
  const [, ...others] = states.accumulators
  const merges = others.map(({ kind, at }) => `  merge_${kind}(at + ${at}u);`)
  const kinds = new Set(states.accumulators.map(({ kind }) => kind))
  const lines = [
    ...LIBRARIES,
    `import package::relational::group::slot_table::{${[...kinds].flatMap((kind) => [`accumulate_${kind}`, `merge_${kind}`]).join(', ')}};`,
    code.imports,
    code.declarations,
    'fn add_row(row: u32) {',
    `  ${code.statements}`,
    '  var slot = 0u;',
    ...slots,
    `  let at = slot * ${states.words}u;`,
    ...row,
    '}',
    'fn merge_slot(at: u32) {',
    '  if (merge_count(at) == 0u) { return; }',
    ...merges,
    '}',
  ]
  return { text: lines.join('\n'), code, states, isFallible: isFallible || states.isFallible }
}

/** @param result what a row that does not pass gives back */
function rowCode({ table, condition }: GroupedRows, result: string | undefined) {
  const code = new RowCode(table.columns, 'row', FIRST_BINDING)
  if (condition === undefined) return { code, isFallible: false }
  // A fault that may be true passes, and is one of the query, whether or not.
  const { value, fault } = code.isTrue(code.value(condition))
  if (fault !== undefined) code.emit(`if (${fault}) { note_condition(); }`)
  code.emit(`if (${value} == 0u) { return${result === undefined ? '' : ` ${result}`}; }`)
  return { code, isFallible: fault !== undefined }
}

/** A statement that takes a key into the number of the slot. */
function addDigit(code: RowCode, { column, size, common, nullable }: SlotKey): string {
  const value = code.ordered(code.column(column))
  const low = value.words === 2 ? `${value.value}.x` : value.value
  const digit = `(${low} ^ ${code.word(Number(common & 0xffffffffn))})`
  if (!nullable) return `  slot = slot * ${code.word(size)} + ${digit};`
  return `  slot = slot * ${code.word(size + 1)} + select(${code.word(size)}, ${digit}, ${value.valid});`
}

function addToState(to: Accumulator, value: string): string {
  const { words, add } = ACCUMULATIONS[to.kind]
  const sum = `${add}(${wordsOf('s', to)}, ${value})`
  if (words === 1) return `  s.w${to.at} = ${sum};`
  const parts = ['x', 'y', 'z'].slice(0, words).map((part, i) => `s.w${to.at + i} = t.${part};`)
  return `  { let t = ${sum}; ${parts.join(' ')} }`
}

function wordsOf(state: string, { kind, at }: Accumulator): string {
  const { words } = ACCUMULATIONS[kind]
  const members = Array.from({ length: words }, (_, i) => `${state}.w${at + i}`)
  return words === 1 ? members[0]! : `${VECTORS[words]}(${members.join(', ')})`
}
