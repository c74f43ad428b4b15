import { WarpdexError } from '../../../protocol/errors.js'
import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import type { Table } from '../query/table.js'
import { RowCode } from './row-code.js'
import { buffersOf, type RowOutput, writeRows } from './row-kernel.js'
import type { FaultyColumn, RowValue } from './row-value.js'

/** What a kernel is made of at most, as `RowText.weight` has it: drivers take longer than in proportion for longer ones. */
const MOST_WEIGHT = 1024

/** Bits of a row that a kernel writes at most, each to a buffer of its own. */
const MOST_BUFFERS_OF_BITS = 32

/** Expressions that are columns by now. */
type Evaluated = ReadonlyMap<TypedExpression, FaultyColumn>

/** A table of what expressions give for every row of another one; columns of that stay as they are. */
export async function projected(
  work: DeviceWork,
  table: Table,
  expressions: readonly TypedExpression[],
): Promise<Table> {
  const evaluated = await evaluateTogether(work, table, computed(expressions))
  return table.choose(
    expressions.map((expression) =>
      expression.kind === 'column' ? expression.index : evaluated.get(expression)!,
    ),
  )
}

function computed(expressions: readonly TypedExpression[]): TypedExpression[] {
  return [...new Set(expressions.filter(({ kind }) => kind !== 'column'))]
}

/** For every row of a table 1 if a condition is true, or a fault that may be, else 0. */
export async function evaluateCondition(
  work: DeviceWork,
  table: Table,
  condition: TypedExpression,
): Promise<GPUBuffer> {
  const outputs = (code: RowCode) => [{ value: code.isTrue(code.value(condition)) }]
  const evaluated = await evaluateParts(work, table, condition, outputs)
  const code = rowCode(table, evaluated)
  const [column] = await writeRows(work, table.rows, code, outputs(code))
  return column!.values
}

/**
 * Columns of what code computes for each of so many rows.
 * @param build adds the code; what it reads are columns of its own
 */
export function evaluateRows(
  work: DeviceWork,
  rows: number,
  build: (code: RowCode) => readonly RowValue[],
): Promise<QueryColumn[]> {
  const code = new RowCode([], 'row', 0)
  return writeRows(
    work,
    rows,
    code,
    build(code).map((value) => ({ value })),
  )
}

async function evaluateTogether(
  work: DeviceWork,
  table: Table,
  expressions: readonly TypedExpression[],
): Promise<Map<TypedExpression, QueryColumn>> {
  if (expressions.length === 0) return new Map()
  const outputs = (code: RowCode) => expressions.map((expression) => ({ value: code.value(expression) }))
  const code = rowCode(table)
  const values = outputs(code)
  if (fits(work, code, values)) {
    const columns = await writeRows(work, table.rows, code, values)
    return new Map(expressions.map((expression, i) => [expression, columns[i]!]))
  }
  if (expressions.length > 1) {
    const middle = expressions.length >> 1
    const first = await evaluateTogether(work, table, expressions.slice(0, middle))
    const second = await evaluateTogether(work, table, expressions.slice(middle))
    return new Map([...first, ...second])
  }
  const evaluated = await evaluateParts(work, table, expressions[0]!, outputs)
  const rest = rowCode(table, evaluated)
  const [column] = await writeRows(work, table.rows, rest, outputs(rest))
  return new Map([[expressions[0]!, column!]])
}

/** Evaluates parts of an expression until one kernel can evaluate the rest of it: whether a fault counts is for the rest to say. */
async function evaluateParts(
  work: DeviceWork,
  table: Table,
  expression: TypedExpression,
  outputs: (code: RowCode) => readonly RowOutput[],
): Promise<Evaluated> {
  const evaluated = new Map<TypedExpression, FaultyColumn>()
  for (;;) {
    const whole = rowCode(table, evaluated)
    if (fits(work, whole, outputs(whole))) return evaluated
    const part = largestFitting(work, table, expression, evaluated)
    const code = rowCode(table, evaluated)
    const [column] = await writeRows(work, table.rows, code, partOf(code, part))
    evaluated.set(part, column!)
  }
}

/** A part that one kernel can evaluate, and is in one that none can: of the parts that are largest, each within the one before. */
function largestFitting(
  work: DeviceWork,
  table: Table,
  expression: TypedExpression,
  evaluated: Evaluated,
): TypedExpression {
  const parts = largestParts(expression, evaluated)
  let low = 0
  let high = parts.length - 1
  if (high < 0) throw new WarpdexError('INTERNAL', 'an expression reads too many columns')
  while (low < high) {
    const middle = (low + high) >> 1
    const code = rowCode(table, evaluated)
    if (fits(work, code, partOf(code, parts[middle]!))) high = middle
    else low = middle + 1
  }
  return parts[low]!
}

/** The largest part of an expression that is no column yet, the largest of that, and so on. */
function largestParts(expression: TypedExpression, evaluated: Evaluated): TypedExpression[] {
  const sizes = new Map<TypedExpression, number>()
  const open = (part: TypedExpression) => argumentsOf(part).filter((argument) => !evaluated.has(argument))
  const size = (part: TypedExpression): number => {
    const known = sizes.get(part) ?? open(part).reduce((sum, argument) => sum + size(argument), 1)
    sizes.set(part, known)
    return known
  }
  const parts: TypedExpression[] = []
  for (let inner = open(expression); inner.length > 0; inner = open(parts.at(-1)!)) {
    parts.push(inner.reduce((largest, part) => (size(part) > size(largest) ? part : largest)))
  }
  return parts
}

function partOf(code: RowCode, part: TypedExpression): RowOutput[] {
  return [{ value: code.value(part), keepsFaults: true }]
}

function fits({ device }: DeviceWork, code: RowCode, outputs: readonly RowOutput[]): boolean {
  const { maxStorageBuffersPerShaderStage: most } = device.gpu.limits
  const isShort = code.weight <= MOST_WEIGHT && outputs.length <= MOST_BUFFERS_OF_BITS / 2
  return isShort && buffersOf(code, outputs) <= most
}

function rowCode(table: Table, evaluated: Evaluated = new Map()): RowCode {
  const code = new RowCode(table.columns, 'row', 0)
  evaluated.forEach((column, expression) => {
    code.give(expression, column)
  })
  return code
}
