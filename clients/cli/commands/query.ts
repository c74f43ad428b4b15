import { badRequest, toWarpdexError } from '../../../protocol/errors.js'
import { type KeptRelation, Query, type QueryNode } from '../../sdk/index.js'
import { argument, clientCommand, flag, text } from '../command.js'
import { columnSpec } from '../import/column-spec.js'
import { untilSignal } from '../interrupt.js'
import { asJson, grouped, printLines } from '../output.js'
import { explanationLines } from '../query-explanation.js'
import { ROW_OPTIONS, rowFormat, writeRows } from '../rows/row-output.js'
import { readText } from '../standard-input.js'

export const add = clientCommand({
  usage: 'query <file>',
  about: 'Query relations',
  positionals: { file: argument('JSON file with the tree of operators; - for standard input') },
  options: {
    // Without a default, which would count as given beside --keep.
    explain: { type: 'boolean', describe: 'Say what each operator did instead of printing rows' },
    keep: {
      ...text('Keep the rows on the server as a relation of that name instead of printing them'),
      conflicts: 'explain',
    },
    'keep-seconds': {
      type: 'number',
      requiresArg: true,
      implies: 'keep',
      describe: 'Seconds for which it stays after its last use; 600 by default',
    },
    ...ROW_OPTIONS,
    json: flag('One JSON object per row, or one for the explanation or the kept result'),
  },
  examples: [
    ['$0 query revenue.json', 'a table on a terminal, else one JSON object per row'],
    ['$0 query revenue.json --output revenue.parquet', 'into a file; its extension gives the format'],
    ['$0 query revenue.json --explain', 'rows, bytes and time of each operator'],
    ['$0 query revenue.json --keep revenue', 'for other queries to read'],
  ],
  epilogue: 'docs/queries.md describes the operators.',
  async run(client, { file, explain, keep, keepSeconds, json, format, output }) {
    const query = new Query(readTree(file))
    if (explain === true) {
      const explanation = await client.explainQuery(query)
      return printLines(json ? [asJson(explanation)] : explanationLines(explanation))
    }
    if (keep !== undefined) {
      const kept = await client.query(query).keep(keep, { seconds: keepSeconds })
      return printLines([json ? asJson(kept) : keptText(kept)])
    }
    const form = rowFormat({ format, output, json })
    return untilSignal((signal) => writeRows(client.query(query, { signal }), form, output))
  },
})

/** Whatever the file holds: the server checks it, and says where it is wrong. */
function readTree(file: string): QueryNode {
  const text = readText(file)
  try {
    return JSON.parse(text)
  } catch (cause) {
    const name = file === '-' ? 'standard input' : file
    throw badRequest(`${name} holds no query as JSON: ${toWarpdexError(cause).message}`, { cause })
  }
}

function keptText({ name, rows, columns, seconds }: KeptRelation): string {
  return `kept ${grouped(rows)} rows as ${name} (${columnSpec(columns)}), for ${grouped(seconds)} seconds after each use`
}
