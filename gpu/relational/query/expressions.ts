import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'
import { compileCondition, compileExpression, type Evaluated, fitsProgram } from './compile.js'
import type { DeviceWork } from './device-work.js'
import type { RowNumbers } from './fetch.js'
import type { ProgramColumn } from './program.js'
import { type QueryColumn, valueWords } from './query-column.js'
import type { Table } from './table.js'

/**
 * The values of an expression for every row of a table. One that is too large for one program is cut: what fits is evaluated first, to columns of
 * its own.
 */
export function evaluateExpression(work: DeviceWork, table: Table, expression: TypedExpression): QueryColumn {
  if (expression.kind === 'column') return table.dense(work, expression.index)
  const evaluated = evaluateParts(work, table, expression)
  return evaluateFitting(work, table, expression, evaluated)
}

/** For every row of a table 1 if a condition is true, or a fault that may be, else 0. */
export function evaluateCondition(work: DeviceWork, table: Table, condition: TypedExpression): GPUBuffer {
  const evaluated = evaluateParts(work, table, condition)
  const program = compileCondition(condition, denseColumns(work, table, condition, evaluated), evaluated)
  return work.kernels.evaluation.record(work, program, table.rows, { words: 1 })
}

/** The positions of the flags that are not 0, ascending, and how many they are. */
export async function selectFlagged(
  work: DeviceWork,
  flags: GPUBuffer,
  count: number,
): Promise<{ readonly numbers: RowNumbers; readonly count: number }> {
  const buffer = work.words(count)
  const total = { buffer: work.words(1), index: 0 }
  work.kernels.primitives.compact(work.recorder, work.scratch, flags, count, buffer, total)
  const [selected] = await work.read([total])
  return { numbers: { buffer, outer: false, ascending: true }, count: selected! }
}

/** Evaluates parts of an expression until what is left of it fits one program. */
function evaluateParts(work: DeviceWork, table: Table, expression: TypedExpression): Evaluated {
  const evaluated = new Map<TypedExpression, ProgramColumn>()
  while (!fitsProgram(expression, evaluated)) {
    const part = largestFitting(expression, evaluated)
    evaluated.set(part, evaluateFitting(work, table, part, evaluated, true))
  }
  return evaluated
}

/** @param isPart whether it is for the rest of an expression to say if a fault counts */
function evaluateFitting(
  work: DeviceWork,
  table: Table,
  expression: TypedExpression,
  evaluated: Evaluated,
  isPart = false,
): ProgramColumn {
  const columns = denseColumns(work, table, expression, evaluated)
  const { program, type, nullable, dictionary } = compileExpression(expression, columns, evaluated)
  const hasFaults = isPart && program.fallible
  const validity = hasFaults ? noFaults(work, table.rows) : nullable ? work.ones(table.rows) : undefined
  const output = { words: valueWords(type), validity, keepsFaults: hasFaults }
  const values = work.kernels.evaluation.record(work, program, table.rows, output)
  return { type, values, validity, dictionary, hasFaults }
}

/** A validity of rows which all have a value, and behind it of as many that are no faults. */
function noFaults(work: DeviceWork, rows: number): GPUBuffer {
  const words = Math.ceil(rows / 32)
  const buffer = work.words(2 * words)
  work.kernels.primitives.fill(work.recorder, buffer, words, 0xffffffff)
  work.recorder.clear(buffer, 4 * words, 4 * words)
  return buffer
}

/** The columns of an expression that are not within what is evaluated, at their numbers. */
function denseColumns(
  work: DeviceWork,
  table: Table,
  expression: TypedExpression,
  evaluated: Evaluated,
): ProgramColumn[] {
  const columns: ProgramColumn[] = []
  const collect = (part: TypedExpression) => {
    if (evaluated.has(part)) return
    if (part.kind === 'column') columns[part.index] = table.dense(work, part.index)
    for (const argument of argumentsOf(part)) collect(argument)
  }
  collect(expression)
  return columns
}

/** A part that fits one program, and is in one that does not. */
function largestFitting(expression: TypedExpression, evaluated: Evaluated): TypedExpression {
  const parts = argumentsOf(expression).filter((argument) => !evaluated.has(argument))
  const unfitting = parts.find((argument) => !fitsProgram(argument, evaluated))
  if (unfitting !== undefined) return largestFitting(unfitting, evaluated)
  return parts.reduce((largest, argument) => (size(argument) > size(largest) ? argument : largest))
}

function size(expression: TypedExpression): number {
  return argumentsOf(expression).reduce((sum, argument) => sum + size(argument), 1)
}
