import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'
import { compileCondition, compileExpression, type Evaluated, fitsProgram } from './compile.js'
import type { DeviceWork } from './device-work.js'
import type { RowNumbers } from './fetch.js'
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

/** For every row of a table 1 if a condition is true, else 0. */
export function evaluateCondition(work: DeviceWork, table: Table, condition: TypedExpression): GPUBuffer {
  const evaluated = evaluateParts(work, table, condition)
  const program = compileCondition(condition, denseColumns(work, table, condition, evaluated), evaluated)
  return work.kernels.evaluation.record(work, program, table.rows, 1, undefined)
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
  return { numbers: { buffer, outer: false }, count: selected! }
}

/** Evaluates parts of an expression until what is left of it fits one program. */
function evaluateParts(work: DeviceWork, table: Table, expression: TypedExpression): Evaluated {
  const evaluated = new Map<TypedExpression, QueryColumn>()
  while (!fitsProgram(expression, evaluated)) {
    const part = largestFitting(expression, evaluated)
    evaluated.set(part, evaluateFitting(work, table, part, evaluated))
  }
  return evaluated
}

function evaluateFitting(
  work: DeviceWork,
  table: Table,
  expression: TypedExpression,
  evaluated: Evaluated,
): QueryColumn {
  const columns = denseColumns(work, table, expression, evaluated)
  const { program, type, nullable, dictionary } = compileExpression(expression, columns, evaluated)
  const validity = nullable ? work.ones(table.rows) : undefined
  const words = valueWords(type)
  const values = work.kernels.evaluation.record(work, program, table.rows, words, validity)
  return { type, values, validity, dictionary }
}

/** The columns of an expression that are not within what is evaluated, at their numbers. */
function denseColumns(
  work: DeviceWork,
  table: Table,
  expression: TypedExpression,
  evaluated: Evaluated,
): QueryColumn[] {
  const columns: QueryColumn[] = []
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
