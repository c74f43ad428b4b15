import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import type { RowCode } from './row-code.js'
import { type RowValue, wgslType } from './row-value.js'

/*
 * The text of a kernel that writes values of rows. Of one that is a wide column's sum and may be null or a fault, where the device is a GPU:
 *
 *   @group(0) @binding(0) var<storage, read> source0: array<vec2u>;          and what else RowText declares
 *   @group(0) @binding(4) var<storage, read_write> faults: array<atomic<u32>>;
 *   @group(0) @binding(5) var<storage, read_write> output0: array<vec2u>;    values; 0 for nulls
 *   @group(0) @binding(6) var<storage, read_write> valid0: array<u32>;       which are not null
 *
 *   fn row_count() -> u32 { return params.count; }
 *   fn write_row(row: u32) -> u32 {                                          a bit for each of the validities
 *     let v0 = source0[row];
 *     …
 *     if (v9) { atomicOr(&faults[0], 1u); }
 *     output0[row] = select(vec2u(), v7, v4);
 *     return select(0u, 1u, v4);
 *   }
 *
 *   var<workgroup> row_bits: array<u32, 256>;
 *
 * and the entry point, in which neighbouring invocations put the bits of 32 rows into words. Where the CPU is the device one invocation has 32 rows.
 */

/** The validity of a value: the buffer, and the WGSL of a row's bit. */
interface Validity {
  readonly name: string
  readonly bool: string
}

const MODULE = 'relational/expressions/rows'

/** Rows that values are written for. */
export interface WrittenRows {
  readonly count: number
  /** How many there are, where only the device knows; what is written behind them means nothing. */
  readonly live?: DeviceWord | undefined
  /** What they are read from is recorded then; kernels are made meanwhile. */
  readonly after?: Promise<unknown>
}

export async function writeRows(
  work: DeviceWork,
  { count, live, after }: WrittenRows,
  code: RowCode,
  values: readonly RowValue[],
): Promise<QueryColumn[]> {
  const isSerial = work.kernels.primitives.strategy === 'serial'
  const text = kernelText(code, values, isSerial, live)
  const description = { module: MODULE, generated: { module: MODULE, text } }
  const [kernel] = await Promise.all([work.kernels.generated.get(description, 'write_rows'), after])
  const buffers: Record<string, DeviceMemory> = { ...code.buffers(work, count) }
  // Whoever learns how many rows there are counts what is written of them.
  const room = live === undefined ? work : work.scratch
  const columns = values.map(({ type, words, valid, dictionary }, i): QueryColumn => {
    const values = room.words(count * words)
    const validity = valid === undefined ? undefined : room.words(Math.ceil(count / 32))
    buffers[`output${i}`] = values
    if (validity !== undefined) buffers[`valid${i}`] = validity
    return { type, values, validity, dictionary }
  })
  const hasNulls = values.some(({ valid }) => valid !== undefined)
  const invocations = isSerial && hasNulls ? Math.ceil(count / 32) : count
  work.recorder.dispatch(kernel, buffers, { count }, invocations, { weight: code.weight })
  return columns
}

/** Storage buffers of a kernel that writes values. */
export function buffersOf(code: RowCode, values: readonly RowValue[]): number {
  return code.bindings + values.length + validitiesOf(values).length
}

function kernelText(
  code: RowCode,
  values: readonly RowValue[],
  isSerial: boolean,
  live: DeviceWord | undefined,
): string {
  const validities = validitiesOf(values)
  const most = live && `${code.bind(live.buffer, 'u32')}[${live.index}u]`
  let binding = code.bindings
  const declare = (name: string, element: string) =>
    `@group(0) @binding(${binding++}) var<storage, read_write> ${name}: array<${element}>;`
  return [
    'import package::device::grid::global_index;',
    code.imports,
    'struct Params { count: u32 }',
    'var<immediate> params: Params;',
    code.declarations,
    ...values.map(({ words }, i) => declare(`output${i}`, wgslType(words))),
    ...validities.map(({ name }) => declare(name, 'u32')),
    `fn row_count() -> u32 { return ${most === undefined ? 'params.count' : `min(params.count, ${most})`}; }`,
    rowFunction(code, values, validities),
    validities.length === 0 ? ENTRY : isSerial ? serialEntry(validities) : groupEntry(validities),
  ].join('\n')
}

function rowFunction(code: RowCode, values: readonly RowValue[], validities: readonly Validity[]): string {
  const stores = values.map(({ value, valid, words }, i) => {
    const stored = valid === undefined ? value : `select(${wgslType(words)}(), ${value}, ${valid})`
    return `output${i}[row] = ${stored};`
  })
  const answer = validities.map(({ bool }, i) => `select(0u, ${2 ** i}u, ${bool})`).join(' | ')
  if (validities.length > 0) stores.push(`return ${answer};`)
  const result = validities.length > 0 ? ' -> u32' : ''
  return `fn write_row(row: u32)${result} {\n  ${[code.statements, ...stores].join('\n  ')}\n}`
}

function validitiesOf(values: readonly RowValue[]): Validity[] {
  return values.flatMap(({ valid }, i) => (valid === undefined ? [] : { name: `valid${i}`, bool: valid }))
}

const BUILTINS = '@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u'

const ENTRY = `@compute @workgroup_size(256)
fn write_rows(${BUILTINS}) {
  let row = global_index(id, groups);
  if (row < row_count()) { write_row(row); }
}
`

function groupEntry(validities: readonly Validity[]): string {
  const stores = validities.map(
    ({ name }, i) => `  if (local / 8u == ${i}u) { ${name}[place] = collected(word, ${i}u); }`,
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
  if (row < row_count()) { row_bits[local] = write_row(row); }
  workgroupBarrier();
  let word = local % 8u;
  let place = (row - local) / 32u + word;
  if (32u * place >= row_count()) { return; }
${stores.join('\n')}
}
`
}

function serialEntry(validities: readonly Validity[]): string {
  return `@compute @workgroup_size(256)
fn write_rows(${BUILTINS}) {
  let first = 32u * global_index(id, groups);
  let count = row_count();
  if (first >= count) { return; }
${validities.map((_, i) => `  var word${i} = 0u;`).join('\n')}
  for (var i = 0u; i < 32u; i++) {
    if (first + i < count) {
      let bits = write_row(first + i);
${validities.map((_, i) => `      word${i} |= ((bits >> ${i}u) & 1u) << i;`).join('\n')}
    }
  }
${validities.map(({ name }, i) => `  ${name}[first / 32u] = word${i};`).join('\n')}
}
`
}
