import type { TypedAggregate, TypedExpression } from '../../../protocol/query/typed.js'
import { isTrue, ordered } from '../expressions/operators.js'
import { RowCode } from '../expressions/row-code.js'
import { CONDITION_FAULT, type DeviceWork } from '../query/device-work.js'
import type { Table, TableColumn } from '../query/table.js'
import { ACCUMULATIONS, type Accumulator, AggregateStates, wordsOf } from './aggregate-states.js'

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
}

/** The first binding of what is generated. */
const FIRST_BINDING = 5

/** What a kernel is made of at most, as `RowText.weight` has it: drivers take longer than in proportion for longer ones. */
const MOST_WEIGHT = 4096

/**
 * Plans for aggregates, as few as kernels can carry out.
 * @param others buffers that a kernel binds beside those of a plan
 * @returns undefined where one aggregate alone is too much
 */
export function fittingPlans(
  work: DeviceWork,
  aggregates: readonly TypedAggregate[],
  others: number,
  make: (aggregates: readonly TypedAggregate[]) => GroupPlan,
  fits: (states: AggregateStates) => boolean,
): GroupPlan[] | undefined {
  const most = work.device.gpu.limits.maxStorageBuffersPerShaderStage - others
  const plan = make(aggregates)
  const { code, states } = plan
  if (code.bindings <= most && code.weight <= MOST_WEIGHT && fits(states)) return [plan]
  if (aggregates.length <= 1) return undefined
  const half = aggregates.length >> 1
  const left = fittingPlans(work, aggregates.slice(0, half), others, make, fits)
  const right = left && fittingPlans(work, aggregates.slice(half), others, make, fits)
  return right && [...left, ...right]
}

/**
 * States as values, for `reduce-groups.wesl`. Of count(*) and sum(x), where x is an u32 that is never null:
 *
 *   struct State { w0: u32, w1: u32, w2: u32, }
 *   fn with_row(state: State, row: u32) -> State {
 *     var s = state;
 *     let v0 = source0[row];
 *     s.w0 = s.w0 + 1u;
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
  const code = rowCode(rows, 's')
  const states = new AggregateStates(aggregates, code, hasKeys)
  const members = Array.from({ length: states.words }, (_, i) => `w${i}: u32,`)
  states.emit(code, (to, value) => addToState(code, to, value))
  const both = states.accumulators.map((to) =>
    addToState(
      code,
      to,
      wordsOf(to, (at) => `b.w${at}`),
    ),
  )
  const text = [
    code.imports,
    code.declarations,
    `struct State { ${members.join(' ')} }`,
    'fn with_row(state: State, row: u32) -> State {',
    '  var s = state;',
    `  ${code.statements}`,
    '  return s;',
    '}',
    'fn combined(a: State, b: State) -> State {',
    '  var s = a;',
    ...both,
    '  return s;',
    '}',
  ]
  return { text: text.join('\n'), code, states }
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
  const code = rowCode(rows)
  code.emit('var slot = 0u;')
  for (const key of keys) addDigit(code, key)
  const states = new AggregateStates(aggregates, code, true)
  code.emit(`let at = slot * ${states.words}u;`)
  const use = (name: string, { kind, at }: Accumulator) =>
    `${code.use('slots', `${name}_${kind}`)}(at + ${at}u`
  states.emit(code, (to, value) => `${use('accumulate', to)}, ${value});`)
  const [count, ...others] = states.accumulators.map((from) => `${use('merge', from)})`)
  const lines = [
    code.imports,
    code.declarations,
    'fn add_row(row: u32) {',
    `  ${code.statements}`,
    '}',
    'fn merge_slot(at: u32) {',
    `  if (${count} == 0u) { return; }`,
    ...others.map((merge) => `  ${merge};`),
    '}',
  ]
  return { text: lines.join('\n'), code, states }
}

/** @param result what a row that does not pass gives back */
function rowCode({ table, condition }: GroupedRows, result = ''): RowCode {
  const code = new RowCode(table.columns, 'row', FIRST_BINDING)
  if (condition === undefined) return code
  // A fault that may be true passes, and is one of the query, whether or not.
  const { value } = code.noted(isTrue(code, code.value(condition)), CONDITION_FAULT)
  code.emit(`if (${value} == 0u) { return ${result}; }`)
  return code
}

/** Takes a key into the number of the slot. */
function addDigit(code: RowCode, { column, size, common, nullable }: SlotKey): void {
  const value = ordered(code, code.column(column))
  const low = value.words === 2 ? `${value.value}.x` : value.value
  const digit = `(${low} ^ ${code.word(Number(common & 0xffffffffn))})`
  const places = code.word(nullable ? size + 1 : size)
  const place = nullable ? `select(${code.word(size)}, ${digit}, ${value.valid})` : digit
  code.emit(`slot = slot * ${places} + ${place};`)
}

function addToState(code: RowCode, to: Accumulator, value: string): string {
  const { words, add } = ACCUMULATIONS[to.kind]
  const sum = add(
    code,
    wordsOf(to, (at) => `s.w${at}`),
    value,
  )
  if (words === 1) return `  s.w${to.at} = ${sum};`
  const parts = ['x', 'y', 'z', 'w'].slice(0, words).map((part, i) => `s.w${to.at + i} = t.${part};`)
  return `  { let t = ${sum}; ${parts.join(' ')} }`
}
