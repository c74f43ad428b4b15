import { WarpdexError } from '../../../protocol/errors.js'
import { getOrInsert } from '../../../protocol/get-or-insert.js'
import { partitionPoint } from '../../../protocol/partition-point.js'
import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import type { Table } from '../query/table.js'
import { isTrue } from './operators.js'
import { RowCode } from './row-code.js'
import { buffersOf, type WrittenRows, writeRows } from './row-kernel.js'
import { type FaultyColumn, IS_FAULT, IS_VALUE, type RowValue } from './row-value.js'

/** What a kernel is made of at most, as `RowText.weight` has it: drivers take longer than in proportion for longer ones. */
const MOST_WEIGHT = 1024

/** Values that a kernel writes at most: a bit of a word says whether there is one. */
const MOST_VALUES = 32

/** Expressions that are columns by now. */
type Evaluated = ReadonlyMap<TypedExpression, FaultyColumn>

/** Adds what computes a value. */
export type Build = (code: RowCode) => RowValue

/** A table of what expressions give for every row of another one; columns of that stay as they are. */
export async function projected(
  work: DeviceWork,
  table: Table,
  expressions: readonly TypedExpression[],
): Promise<Table> {
  const computed = [...new Set(expressions.filter(({ kind }) => kind !== 'column'))]
  const rows = { count: table.rows }
  const columns = await writeFitting(
    { work, rows, newCode: () => rowCode(table) },
    computed,
    noted,
    (expression) => evaluateInParts(work, table, expression, noted),
  )
  const evaluated = new Map(computed.map((expression, i) => [expression, columns[i]!]))
  return table.choose(
    expressions.map((expression) =>
      expression.kind === 'column' ? expression.index : evaluated.get(expression)!,
    ),
  )
}

/** For every row of a table 1 if a condition is true, or a fault that may be, else 0. */
export async function evaluateCondition(
  work: DeviceWork,
  table: Table,
  condition: TypedExpression,
): Promise<DeviceMemory> {
  const build = (code: RowCode, part: TypedExpression) => code.noted(isTrue(code, code.value(part)))
  const { values } = await evaluateInParts(work, table, condition, build)
  return values
}

/**
 * Columns of what code computes for each row.
 * @param builds add the code; what it reads are columns of its own
 */
export function evaluateRows(
  work: DeviceWork,
  rows: WrittenRows,
  builds: readonly Build[],
): Promise<QueryColumn[]> {
  return writeFitting({ work, rows, newCode: () => new RowCode([], 'row', 0) }, builds, (code, build) =>
    build(code),
  )
}

/** What values are written for, and what begins code over one of the rows. */
interface Written {
  readonly work: DeviceWork
  readonly rows: WrittenRows
  readonly newCode: () => RowCode
}

/**
 * Writes values by as few kernels as can.
 * @param alone writes one that no kernel can
 */
async function writeFitting<T>(
  written: Written,
  items: readonly T[],
  build: (code: RowCode, item: T) => RowValue,
  alone?: (item: T) => Promise<QueryColumn>,
): Promise<QueryColumn[]> {
  const { work, rows, newCode } = written
  if (items.length === 0) {
    await rows.after
    return []
  }
  const code = newCode()
  if (rows.live !== undefined) code.bind(rows.live.buffer, 'u32')
  const values = items.map((item) => build(code, item))
  if (fits(work, code, values)) return writeRows(work, rows, code, values)
  if (items.length === 1) {
    if (alone === undefined) throw new WarpdexError('INTERNAL', 'a value reads too many columns')
    return [await alone(items[0]!)]
  }
  const middle = items.length >> 1
  const first = await writeFitting(written, items.slice(0, middle), build, alone)
  return [...first, ...(await writeFitting(written, items.slice(middle), build, alone))]
}

/** A value of which nothing is a fault: one of the expression is the query's. */
function noted(code: RowCode, expression: TypedExpression): RowValue {
  return code.noted(code.value(expression))
}

/** Evaluates parts of an expression until one kernel can evaluate the rest of it: whether a fault counts is for the rest to say. */
async function evaluateInParts(
  work: DeviceWork,
  table: Table,
  expression: TypedExpression,
  build: (code: RowCode, expression: TypedExpression) => RowValue,
): Promise<QueryColumn> {
  const rows = { count: table.rows }
  const evaluated = new Map<TypedExpression, FaultyColumn>()
  for (;;) {
    const whole = rowCode(table, evaluated)
    const value = build(whole, expression)
    if (fits(work, whole, [value])) return (await writeRows(work, rows, whole, [value]))[0]!
    const part = largestFitting(work, table, expression, evaluated)
    const code = rowCode(table, evaluated)
    const [column, states] = await writeRows(work, rows, code, partOf(code, part))
    evaluated.set(part, { ...column!, states: states?.values })
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
  if (parts.length === 0) throw new WarpdexError('INTERNAL', 'an expression reads too many columns')
  const isTooLarge = (number: number) => {
    const code = rowCode(table, evaluated)
    return !fits(work, code, partOf(code, parts[number]!))
  }
  return parts[partitionPoint(0, parts.length - 1, isTooLarge)]!
}

/** The largest part of an expression that is no column yet, the largest of that, and so on. */
function largestParts(expression: TypedExpression, evaluated: Evaluated): TypedExpression[] {
  const sizes = new Map<TypedExpression, number>()
  const open = (part: TypedExpression) => argumentsOf(part).filter((argument) => !evaluated.has(argument))
  const size = (part: TypedExpression): number => {
    return getOrInsert(sizes, part, () => open(part).reduce((sum, argument) => sum + size(argument), 1))
  }
  const parts: TypedExpression[] = []
  for (let inner = open(expression); inner.length > 0; inner = open(parts.at(-1)!)) {
    parts.push(inner.reduce((largest, part) => (size(part) > size(largest) ? part : largest)))
  }
  return parts
}

/** A part's value, and, where that may be a fault, the state of each row's. */
function partOf(code: RowCode, part: TypedExpression): RowValue[] {
  const value = code.value(part)
  const { valid = 'true', fault } = value
  if (fault === undefined) return [value]
  const state = code.computed('u32', `select(select(0u, ${IS_VALUE}u, ${valid}), ${IS_FAULT}u, ${fault})`)
  return [{ ...value, valid: undefined, fault: undefined }, state]
}

function fits({ device }: DeviceWork, code: RowCode, values: readonly RowValue[]): boolean {
  const { maxStorageBuffersPerShaderStage: most } = device.gpu.limits
  const isShort = code.weight <= MOST_WEIGHT && values.length <= MOST_VALUES
  return isShort && buffersOf(code, values) <= most
}

function rowCode(table: Table, evaluated: Evaluated = new Map()): RowCode {
  const code = new RowCode(table.columns, 'row', 0)
  evaluated.forEach((column, expression) => {
    code.give(expression, column)
  })
  return code
}
