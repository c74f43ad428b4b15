import type { ValueType } from '../../../protocol/query/tree.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { StringDictionary } from '../device-relation.js'
import { RowCode } from '../expressions/row-code.js'
import type { RowValue } from '../expressions/row-value.js'
import { type DeviceWork, sumFault } from '../query/device-work.js'
import { type QueryColumn, valueWords } from '../query/query-column.js'
import type { AggregateState, AggregateStates } from './aggregate-states.js'
import { FIRST_BINDING, type SlotKey, slotsOf } from './group-plan.js'

/** A column of results: its type, and WGSL that computes a value from a group's state at `at`, or its number of `slot`. */
export interface ResultColumn {
  readonly type: ValueType
  readonly dictionary: StringDictionary | undefined
  readonly nullable: boolean
  /** Whether it may not fit its type. */
  readonly fallible: boolean
  readonly compute: (code: RowCode) => Pick<RowValue, 'value' | 'valid'>
}

/** @param first number of the first aggregate among all, by which a sum that does not fit is told */
export function aggregateResults({ aggregates }: AggregateStates, first: number): ResultColumn[] {
  return aggregates.map((state, i) => aggregateResult(state, first + i))
}

/** A sum of integers that does not fit 64 bits is a fault (`sumFault` of the aggregate's number). */
function aggregateResult(state: AggregateState, number: number): ResultColumn {
  const { function: fn, dictionary, nullable, result } = state
  const isExtreme = fn === 'min' || fn === 'max'
  const { at: count } = state.count
  const type = resultType(state)
  const compute = (code: RowCode) => {
    const valid = nullable ? code.let(`state_word(at + ${count}u) != 0u`) : undefined
    return { value: code.let(resultOf(state, code, number)), valid }
  }
  const fallible = fn === 'sum' && result.kind === 'long'
  return { type, dictionary: isExtreme ? dictionary : undefined, nullable, fallible, compute }
}

function resultType({ function: fn, type }: AggregateState): ValueType {
  if (fn === 'count') return 'u32'
  if (fn === 'avg') return 'f32'
  if (fn === 'sum' && (type === 'u32' || type === 'i32')) return type === 'u32' ? 'u64' : 'i64'
  return type!
}

function resultOf(
  { function: fn, type, count, result }: AggregateState,
  code: RowCode,
  number: number,
): string {
  const at = `at + ${result.at}u`
  switch (fn) {
    case 'count':
      return `state_word(${at})`
    case 'min':
    case 'max':
      return extreme(code, type!, fn, at)
    case 'sum':
      return sum(code, type!, at, number)
    case 'avg':
      return average(code, type!, at, `state_word(at + ${count.at}u)`)
  }
}

function extreme(code: RowCode, type: ValueType, fn: 'min' | 'max', at: string): string {
  const words = valueWords(type)
  const most = code.let(`${words === 2 ? 'state_pair' : 'state_word'}(${at})`)
  const value = fn === 'max' ? most : `~${most}`
  const none = { valid: undefined, fault: undefined, dictionary: undefined }
  return code.restored({ type, words, value, ...none }).value
}

function sum(code: RowCode, type: ValueType, at: string, number: number): string {
  // The first of a pair of floats is the sum, rounded.
  if (type === 'f32') return `state_word(${at})`
  if (type === 'u32' || type === 'i32') return `state_pair(${at})`
  const long = code.let(`state_triple(${at})`)
  const extension = type === 'u64' ? '0u' : `extended_wide(${long}.xy).z`
  code.emit(`if (${long}.z != ${extension}) { note_sum(${code.word(sumFault(number))}); }`)
  return `${long}.xy`
}

function average(code: RowCode, type: ValueType, at: string, count: string): string {
  const values = code.let(count)
  const divided = code.name()
  const sums = {
    u32: `average_of_unsigned(vec3u(state_pair(${at}), 0u), ${values})`,
    i32: `average_of_signed(extended_wide(state_pair(${at})), ${values})`,
    u64: `average_of_unsigned(state_triple(${at}), ${values})`,
    i64: `average_of_signed(state_triple(${at}), ${values})`,
    f32: `average_of_floats(state_pair(${at}), ${values})`,
    string: '0u',
    boolean: '0u',
  } satisfies Readonly<Record<ValueType, string>>
  code.emit(`var ${divided} = 0u;`, `if (${values} != 0u) { ${divided} = ${sums[type]}; }`)
  return divided
}

/** Keys as they follow from the numbers of slots. */
export function keyResults(keys: readonly SlotKey[]): ResultColumn[] {
  return keys.map(({ column: { source }, nullable, size, common }, i): ResultColumn => {
    const { type, dictionary } = source
    const words = valueWords(type)
    const divisor = slotsOf(keys.slice(i + 1))
    const compute = (code: RowCode) => {
      const places = nullable ? size + 1 : size
      const digit = code.let(`(slot / ${code.word(divisor)}) % ${code.word(places)}`)
      const bits = code.constant(common, words).value
      const value = code.let(`${bits} | ${words === 2 ? `vec2u(${digit}, 0u)` : digit}`)
      const ordered = { type, words, value, valid: undefined, fault: undefined, dictionary }
      return {
        value: code.restored(ordered).value,
        valid: nullable ? code.let(`${digit} != ${code.word(size)}`) : undefined,
      }
    }
    return { type, dictionary, nullable, fallible: false, compute }
  })
}

/** Where states lie, and of which groups they are. */
export interface GroupStates {
  readonly states: GPUBuffer
  /** Words of one. */
  readonly words: number
  /** Groups at most, or slots. */
  readonly count: number
  /** Groups if the device knows; of slots where their totals go. */
  readonly live: DeviceWord
  readonly entryPoint: 'finish_groups' | 'finish_slots'
}

/** Buffers that the kernels bind beside the columns: states, number of groups, faults, arguments. */
const OTHER_BUFFERS = 4

/** Writes columns of results, with as few kernels as can bind them. */
export async function writeResults(
  work: DeviceWork,
  groups: GroupStates,
  columns: readonly ResultColumn[],
): Promise<QueryColumn[]> {
  const most = work.device.gpu.limits.maxStorageBuffersPerShaderStage - OTHER_BUFFERS
  const parts: ResultColumn[][] = []
  let bound = most
  for (const column of columns) {
    const buffers = column.nullable ? 2 : 1
    if (bound + buffers > most) {
      parts.push([])
      bound = 0
    }
    parts.at(-1)!.push(column)
    bound += buffers
  }
  const written = await Promise.all(parts.map((part) => writePart(work, groups, part)))
  return written.flat()
}

async function writePart(
  work: DeviceWork,
  { states, words, count, live, entryPoint }: GroupStates,
  columns: readonly ResultColumn[],
): Promise<QueryColumn[]> {
  const { text, code } = resultsText(columns)
  const generated = { module: 'relational/group/results', text }
  const kernel = await work.kernels.generated.get(
    { module: 'relational/group/finish-groups', generated },
    entryPoint,
  )
  const isFallible = columns.some(({ fallible }) => fallible)
  const buffers: Record<string, GPUBuffer | undefined> = {
    ...code.buffers(work),
    states,
    faults: isFallible ? work.faults : undefined,
  }
  buffers[entryPoint === 'finish_slots' ? 'totals' : 'live'] = live.buffer
  const made = columns.map(({ type, dictionary, nullable }, i): QueryColumn => {
    const values = work.scratch.words(count * valueWords(type))
    const validity = nullable ? work.scratch.words(Math.ceil(count / 32)) : undefined
    if (validity !== undefined) work.recorder.clear(validity, 0, Math.ceil(count / 32) * 4)
    Object.assign(buffers, { [`output${i}`]: values, [`validity${i}`]: validity })
    return { type, values, validity, dictionary }
  })
  work.mayHaveFault ||= isFallible
  const params = { count, words, liveIndex: live.index }
  work.recorder.dispatch(kernel, buffers, params, count)
  return made
}

/**
 * Of an average of i32 that may have none to be made of, where the state has the number at 1 and the sum from 2 on:
 *
 *   fn finish(at: u32, slot: u32, group: u32) {
 *     let v0 = state_word(at + 1u) != 0u;
 *     let v1 = state_word(at + 1u);
 *     var v2 = 0u;
 *     if (v1 != 0u) { v2 = average_of_signed(extended_wide(state_pair(at + 2u)), v1); }
 *     output0[group] = select(0u, v2, v0);
 *     if (v0) { atomicOr(&validity0[group / 32u], 1u << (group % 32u)); }
 *   }
 */
function resultsText(columns: readonly ResultColumn[]): { readonly text: string; readonly code: RowCode } {
  const code = new RowCode([], 'group', FIRST_BINDING)
  const declarations: string[] = []
  let binding = FIRST_BINDING + 1
  columns.forEach(({ type, nullable, compute }, i) => {
    const isWide = valueWords(type) === 2
    const declare = (name: string, element: string) => {
      declarations.push(
        `@group(0) @binding(${binding++}) var<storage, read_write> ${name}${i}: array<${element}>;`,
      )
    }
    declare('output', isWide ? 'vec2u' : 'u32')
    if (nullable) declare('validity', 'atomic<u32>')
    const { value, valid } = compute(code)
    const zero = isWide ? 'vec2u()' : '0u'
    code.emit(`output${i}[group] = ${valid === undefined ? value : `select(${zero}, ${value}, ${valid})`};`)
    if (valid !== undefined) {
      code.emit(`if (${valid}) { atomicOr(&validity${i}[group / 32u], 1u << (group % 32u)); }`)
    }
  })
  const lines = [
    LIBRARIES,
    code.imports,
    code.declarations,
    ...declarations,
    'fn finish(at: u32, slot: u32, group: u32) {',
    `  ${code.statements}`,
    '}',
  ]
  return { text: lines.join('\n'), code }
}

const LIBRARIES = `import package::relational::group::averages::{average_of_floats, average_of_signed, average_of_unsigned};
import package::relational::group::faults::note_sum;
import package::relational::group::state_words::{state_pair, state_triple, state_word};
import package::relational::group::sums::extended_wide;`
