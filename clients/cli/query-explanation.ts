import { qError } from '../../protocol/query/explanation.js'
import type { JoinExplanation, QueryExplanation, SelectionExplanation } from '../sdk/index.js'
import { bytesText, grouped } from './output.js'

/** What each operator of a query did, the last one first. */
export function explanationLines(step: QueryExplanation, indent = ''): string[] {
  const { op, method, join, selection, rows, estimatedRows, tables, milliseconds, inputs } = step
  const how = method === undefined ? '' : ` (${method})`
  const passes = tables > 1 ? ` in ${tables} passes` : ''
  const figures = `${grouped(rows)} rows${passes} (${grouped(estimatedRows)} estimated${errorText(step)}), ${bytesText(step.bytesRead)} read, ${bytesText(step.bytesWritten)} written, ${milliseconds.toFixed(2)} ms${shareText(step)}`
  return [
    `${indent}${op}${how}: ${figures}`,
    ...(join === undefined ? [] : [`${indent}| ${joinText(join)}`]),
    ...(selection === undefined ? [] : selectionLines(selection, `${indent}| `)),
    ...inputs.flatMap((input) => explanationLines(input, `${indent}  `)),
  ]
}

/** Of estimates that were right there is nothing to say. */
function errorText({ estimatedRows, rows }: QueryExplanation): string {
  const error = qError(estimatedRows, rows).toFixed(1)
  return error === '1.0' ? '' : `, q ${error}`
}

/** A step that moved nothing has no share. */
function shareText({ copyShare }: QueryExplanation): string {
  return copyShare ? `, ${(100 * copyShare).toFixed(1)} % of the rate of copies` : ''
}

function joinText({ algorithm, estimatedMilliseconds, alternatives }: JoinExplanation): string {
  const others = alternatives.map((other) => planText(other.algorithm, other.estimatedMilliseconds))
  return `${planText(algorithm, estimatedMilliseconds)} estimated${insteadText(others)}`
}

function insteadText(others: readonly string[]): string {
  return others.length === 0 ? '' : `; else ${others.join(', ')}`
}

function selectionLines(
  { plan, index, estimatedMilliseconds, conditions, kernels, alternatives }: SelectionExplanation,
  indent: string,
): string[] {
  const others = alternatives.map((other) => planText(other.plan, other.estimatedMilliseconds))
  const all = [...(index?.conditions ?? []), ...conditions]
  return [
    `${indent}${all.map((condition, i) => `${i + 1}. ${condition}`).join('; ')}`,
    `${indent}${planText(plan, estimatedMilliseconds)} estimated${insteadText(others)}`,
    ...(index === undefined
      ? []
      : [
          `${indent}the index gives ${grouped(index.rows)} rows (${grouped(index.estimatedRows)} estimated) for ${numbersUpTo(index.conditions.length)}`,
        ]),
    ...(kernels.length < 2 ? [] : kernels).map(
      (kernel, i) =>
        `${indent}kernel ${i + 1}, ${kernel.plan}, gives ${kernel.gives}: ${grouped(kernel.rows)} rows (${grouped(kernel.estimatedRows)} estimated)`,
    ),
  ]
}

/** `1`, or `1 … n`. */
function numbersUpTo(last: number): string {
  return last === 1 ? '1' : `1 … ${last}`
}

function planText(plan: string, milliseconds: number): string {
  return `${plan} ${milliseconds.toFixed(3)} ms`
}
