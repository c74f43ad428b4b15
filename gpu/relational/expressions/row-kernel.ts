import type { DeviceWork } from '../query/device-work.js'
import { EXPRESSION_FAULT } from '../query/device-work.js'
import type { RowCode } from './row-code.js'
import type { FaultyColumn, RowValue } from './row-value.js'

/** A value that is written for each row. */
export interface RowOutput {
  readonly value: RowValue
  /** Whether rows that are faults are written too; else one is the query's. */
  readonly keepsFaults?: boolean
}

/*
 * The text of a kernel that writes values of rows. Of one that is a wide column's sum and may be null or a fault, where the device is a GPU:
 *
 *   @group(0) @binding(0) var<storage, read> source0: array<vec2u>;          and what else RowText declares
 *   @group(0) @binding(4) var<storage, read_write> output0: array<vec2u>;    values; 0 for nulls
 *   @group(0) @binding(5) var<storage, read_write> valid0: array<u32>;       which are not null
 *   @group(0) @binding(6) var<storage, read_write> faults: array<atomic<u32>>;
 *
 *   fn write_row(row: u32) -> u32 {                                          a bit for each of the buffers of bits
 *     let v0 = source0[row];
 *     …
 *     output0[row] = select(vec2u(), v7, v4);
 *     if (v9) { atomicOr(&faults[0], 1u); }
 *     return select(0u, 1u, v4);
 *   }
 *
 *   var<workgroup> row_bits: array<u32, 256>;
 *
 * and the entry point, in which neighbouring invocations put the bits of 32 rows into words. Where the CPU is the device one invocation has 32 rows.
 */

/** Bits of rows, which lie at places `stride * i + offset` of a buffer, for 32 rows each. */
interface Bits {
  readonly name: string
  readonly bool: string
  readonly stride: 1 | 2
  readonly offset: 0 | 1
}

const MODULE = 'relational/expressions/rows'

/** Writes values of so many rows; columns are as long. */
export async function writeRows(
  work: DeviceWork,
  rows: number,
  code: RowCode,
  outputs: readonly RowOutput[],
): Promise<FaultyColumn[]> {
  const isSerial = work.kernels.primitives.strategy === 'serial'
  const { text, bits } = kernelText(code, outputs, isSerial)
  const kernel = await work.kernels.generated.get(
    { module: MODULE, generated: { module: MODULE, text } },
    'write_rows',
  )
  const buffers: Record<string, GPUBuffer> = { ...code.buffers(work), faults: work.faults }
  for (const { name, stride, offset } of bits) {
    if (offset === 0) buffers[name] = work.words(stride * Math.ceil(rows / 32))
  }
  const columns = outputs.map(({ value, keepsFaults = false }, i): FaultyColumn => {
    work.mayHaveFault ||= value.fault !== undefined && !keepsFaults
    const values = work.words(rows * value.words)
    buffers[`output${i}`] = values
    const { type, dictionary } = value
    return { type, values, validity: buffers[`valid${i}`], states: buffers[`states${i}`], dictionary }
  })
  const invocations = isSerial && bits.length > 0 ? Math.ceil(rows / 32) : rows
  work.recorder.dispatch(kernel, buffers, { count: rows }, invocations, { weight: code.weight })
  return columns
}

/** Storage buffers of a kernel that writes values. */
export function buffersOf(code: RowCode, outputs: readonly RowOutput[]): number {
  const faults = outputs.some(isFault) ? 1 : 0
  return code.bindings + outputs.length + namesOf(bitsOf(outputs)).length + faults
}

function kernelText(
  code: RowCode,
  outputs: readonly RowOutput[],
  isSerial: boolean,
): { readonly text: string; readonly bits: readonly Bits[] } {
  const bits = bitsOf(outputs)
  let binding = code.bindings
  const declare = (name: string, element: string) =>
    `@group(0) @binding(${binding++}) var<storage, read_write> ${name}: array<${element}>;`
  const hasFaults = outputs.some(isFault)
  const text = [
    'import package::device::grid::global_index;',
    code.imports,
    'struct Params { count: u32 }',
    'var<immediate> params: Params;',
    code.declarations,
    ...outputs.map(({ value }, i) => declare(`output${i}`, value.words === 2 ? 'vec2u' : 'u32')),
    ...namesOf(bits).map((name) => declare(name, 'u32')),
    hasFaults ? declare('faults', 'atomic<u32>') : '',
    rowFunction(code, outputs, bits),
    bits.length === 0 ? ENTRY : isSerial ? serialEntry(bits) : groupEntry(bits),
  ].join('\n')
  return { text, bits }
}

function rowFunction(code: RowCode, outputs: readonly RowOutput[], bits: readonly Bits[]): string {
  const stores = outputs.map(({ value: { value, valid, words } }, i) => {
    const stored =
      valid === undefined ? value : `select(${words === 2 ? 'vec2u()' : '0u'}, ${value}, ${valid})`
    return `output${i}[row] = ${stored};`
  })
  const faults = outputs.filter(isFault).map(({ value }) => value.fault!)
  if (faults.length > 0)
    stores.push(`if (${faults.join(' | ')}) { atomicOr(&faults[0], ${EXPRESSION_FAULT}u); }`)
  const answer = bits.map(({ bool }, i) => `select(0u, ${2 ** i}u, ${bool})`).join(' | ')
  if (bits.length > 0) stores.push(`return ${answer};`)
  const result = bits.length > 0 ? ' -> u32' : ''
  return `fn write_row(row: u32)${result} {\n  ${[code.statements, ...stores].join('\n  ')}\n}`
}

/** The validities of outputs, and the states of those whose faults are kept. */
function bitsOf(outputs: readonly RowOutput[]): Bits[] {
  return outputs.flatMap(({ value: { valid, fault }, keepsFaults }, i): Bits[] => {
    if (fault !== undefined && keepsFaults) {
      const states = { name: `states${i}`, stride: 2 } as const
      return [
        { ...states, bool: valid ?? 'true', offset: 0 },
        { ...states, bool: fault, offset: 1 },
      ]
    }
    return valid === undefined ? [] : [{ name: `valid${i}`, bool: valid, stride: 1, offset: 0 }]
  })
}

function namesOf(bits: readonly Bits[]): string[] {
  return [...new Set(bits.map(({ name }) => name))]
}

function placeOf({ name, stride, offset }: Bits, word: string): string {
  return `${name}[${stride}u * ${word} + ${offset}u]`
}

function isFault({ value, keepsFaults = false }: RowOutput): boolean {
  return value.fault !== undefined && !keepsFaults
}

const BUILTINS = '@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u'

const ENTRY = `@compute @workgroup_size(256)
fn write_rows(${BUILTINS}) {
  let row = global_index(id, groups);
  if (row < params.count) { write_row(row); }
}
`

function groupEntry(bits: readonly Bits[]): string {
  const stores = bits.map(
    (each, i) => `  if (local / 8u == ${i}u) { ${placeOf(each, 'place')} = collected(word, ${i}u); }`,
  )
  return `var<workgroup> row_bits: array<u32, 256>;
fn collected(word: u32, bit: u32) -> u32 {
  var bits = 0u;
  for (var i = 0u; i < 32u; i++) { bits |= ((row_bits[32u * word + i] >> bit) & 1u) << i; }
  return bits;
}
@compute @workgroup_size(256)
fn write_rows(${BUILTINS}, @builtin(local_invocation_index) local: u32) {
  let row = global_index(id, groups);
  row_bits[local] = 0u;
  if (row < params.count) { row_bits[local] = write_row(row); }
  workgroupBarrier();
  let word = local % 8u;
  let place = (row - local) / 32u + word;
  if (32u * place >= params.count) { return; }
${stores.join('\n')}
}
`
}

function serialEntry(bits: readonly Bits[]): string {
  return `@compute @workgroup_size(256)
fn write_rows(${BUILTINS}) {
  let first = 32u * global_index(id, groups);
  if (first >= params.count) { return; }
${bits.map((_, i) => `  var word${i} = 0u;`).join('\n')}
  for (var i = 0u; i < 32u; i++) {
    if (first + i < params.count) {
      let bits = write_row(first + i);
${bits.map((_, i) => `      word${i} |= ((bits >> ${i}u) & 1u) << i;`).join('\n')}
    }
  }
${bits.map((each, i) => `  ${placeOf(each, '(first / 32u)')} = word${i};`).join('\n')}
}
`
}
