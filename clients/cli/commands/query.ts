import { readFileSync } from 'node:fs'
import { badRequest } from '../../../protocol/errors.js'
import { qError } from '../../../protocol/query/explanation.js'
import {
  type JoinExplanation,
  type KeptRelation,
  Query,
  type QueryExplanation,
  type QueryNode,
  type SelectionExplanation,
} from '../../sdk/index.js'
import { argument, clientCommand, flag, text } from '../command.js'
import { columnSpec } from '../import/column-spec.js'
import { asJson, bytesText, grouped, printLines } from '../output.js'
import { ROW_OPTIONS, rowFormat, writeRows } from '../rows/row-output.js'

export const add = clientCommand({
  usage: 'query <file>',
  about: 'Ask for rows of relations',
  positionals: { file: argument('JSON file with the tree of operators; - for standard input') },
  options: {
    // Without a default, which would count as given beside --keep.
    explain: { type: 'boolean', describe: 'Say what each operator did instead' },
    keep: {
      ...text('Keep the rows on the server as a relation of that name instead'),
      conflicts: 'explain',
    },
    'keep-seconds': {
      type: 'number',
      requiresArg: true,
      implies: 'keep',
      describe: 'Seconds for which it stays after its last use; 600 by default',
    },
    ...ROW_OPTIONS,
    json: flag('The explanation, or what was kept, as one JSON object'),
  },
  examples: [
    ['$0 query revenue.json', 'a table on a terminal, else a JSON object a row'],
    ['$0 query revenue.json --output revenue.parquet', 'into a file; the end of its name tells the format'],
    ['$0 query revenue.json --explain', 'rows, bytes and time of each operator'],
    ['$0 query revenue.json --keep revenue', 'for other queries to read'],
  ],
  epilogue: 'docs/queries.md has the operators.',
  async run(client, { file, explain, keep, keepSeconds, json, format, output }) {
    const query = new Query(readTree(file))
    if (explain === true) {
      const explanation = await client.explainQuery(query)
      return printLines(json ? [asJson(explanation)] : explanationLines(explanation, ''))
    }
    if (keep !== undefined) {
      const kept = await client.query(query).keep(keep, { seconds: keepSeconds })
      return printLines([json ? asJson(kept) : keptText(kept)])
    }
    return writeRows(client.query(query), rowFormat({ format, output }), output)
  },
})

/** Whatever the file holds: the server checks it, and says where it is wrong. */
function readTree(file: string): QueryNode {
  const name = file === '-' ? 'standard input' : file
  const text = attempt(`${name} cannot be read`, () => readFileSync(file === '-' ? 0 : file, 'utf8'))
  return attempt(`${name} holds no query as JSON`, () => JSON.parse(text))
}

/** @throws WarpdexError `BAD_REQUEST` that says what is wrong, and why */
function attempt<T>(wrong: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw badRequest(`${wrong}: ${reason}`, { cause: error })
  }
}

function keptText({ name, rows, columns, seconds }: KeptRelation): string {
  return `kept ${grouped(rows)} rows as ${name} (${columnSpec(columns)}), for ${grouped(seconds)} seconds after each use`
}

function explanationLines(step: QueryExplanation, indent: string): string[] {
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
