import { readFileSync } from 'node:fs'
import type { Argv } from 'yargs'
import { WarpdexError } from '../../../protocol/errors.js'
import {
  type Cell,
  Query,
  type QueryExplanation,
  type QueryNode,
  type SelectionExplanation,
} from '../../sdk/index.js'
import { asJson, bytesText, grouped, printLines } from '../output.js'
import { clientOptions, withClient } from '../session.js'

export function addQuery(cli: Argv): Argv {
  return cli.command(
    'query <file>',
    'Ask for rows of relations',
    (command) =>
      clientOptions(command)
        .positional('file', {
          type: 'string',
          demandOption: true,
          describe: 'JSON file with the tree of operators; - for standard input',
        })
        .option('explain', {
          type: 'boolean',
          default: false,
          describe: 'Say what each operator did instead',
        })
        .option('json', { type: 'boolean', default: false, describe: 'The explanation as one JSON object' })
        .example('$0 query revenue.json', 'a JSON object a row; numbers of 64 bits are texts')
        .example('$0 query revenue.json --explain', 'rows, bytes and time of each operator')
        .epilogue('docs/queries.md has the operators.'),
    (options) =>
      withClient(options, async (client) => {
        const query = new Query(readTree(options.file))
        if (options.explain) {
          const explanation = await client.explainQuery(query)
          return printLines(options.json ? [asJson(explanation)] : explanationLines(explanation, ''))
        }
        for await (const batch of client.query(query)) await printLines(Array.from(batch.rows(), rowText))
      }),
  )
}

/** Whatever the file holds: the server checks it, and says where it is wrong. */
function readTree(file: string): QueryNode {
  try {
    return JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new WarpdexError('BAD_REQUEST', `${file} holds no query as JSON: ${reason}`, { cause: error })
  }
}

function rowText(row: Record<string, Cell>): string {
  return JSON.stringify(row, (_, cell: Cell) => (typeof cell === 'bigint' ? String(cell) : cell))
}

function explanationLines(step: QueryExplanation, indent: string): string[] {
  const { op, method, selection, rows, estimatedRows, tables, bytes, milliseconds, inputs } = step
  const how = method === undefined ? '' : ` (${method})`
  const passes = tables > 1 ? ` in ${tables} passes` : ''
  const figures = `${grouped(rows)} rows${passes} (${grouped(estimatedRows)} estimated), ${bytesText(bytes)}, ${milliseconds.toFixed(2)} ms`
  return [
    `${indent}${op}${how}: ${figures}`,
    ...(selection === undefined ? [] : selectionLines(selection, `${indent}| `)),
    ...inputs.flatMap((input) => explanationLines(input, `${indent}  `)),
  ]
}

function selectionLines(
  { plan, estimatedMilliseconds, conditions, kernels, alternatives }: SelectionExplanation,
  indent: string,
): string[] {
  const others = alternatives.map((other) => planText(other.plan, other.estimatedMilliseconds))
  const instead = others.length === 0 ? '' : `; else ${others.join(', ')}`
  return [
    `${indent}${conditions.map((condition, i) => `${i + 1}. ${condition}`).join('; ')}`,
    `${indent}${planText(plan, estimatedMilliseconds)} estimated${instead}`,
    ...(kernels.length < 2 ? [] : kernels).map(
      (kernel, i) =>
        `${indent}kernel ${i + 1}, ${kernel.plan}, gives ${kernel.gives}: ${grouped(kernel.rows)} rows (${grouped(kernel.estimatedRows)} estimated)`,
    ),
  ]
}

function planText(plan: string, milliseconds: number): string {
  return `${plan} ${milliseconds.toFixed(3)} ms`
}
