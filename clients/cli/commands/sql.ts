import { badRequest } from '../../../protocol/errors.js'
import type { SqlValues } from '../../sdk/index.js'
import { clientCommand, flag, text } from '../command.js'
import { untilSignal } from '../interrupt.js'
import { asJson, printLines } from '../output.js'
import { explanationLines } from '../query-explanation.js'
import { ROW_OPTIONS, rowFormat, writeRows } from '../rows/row-output.js'
import { readText } from '../standard-input.js'

const EXPLAIN = /^\s*explain\s/i

export const add = clientCommand({
  usage: 'sql [statement] [values..]',
  about: 'Query relations in SQL',
  positionals: {
    statement: { type: 'string', describe: 'A SELECT, or EXPLAIN of one' },
    values: { type: 'string', array: true, default: [], describe: 'Values for ? or $1, $2, …' },
  },
  options: {
    file: text('File with the statement; - for standard input'),
    parameters: text('Values for $name as a JSON object, or for ? as a list'),
    explain: { type: 'boolean', describe: 'Say what each operator did instead of printing rows' },
    ...ROW_OPTIONS,
    json: flag('One JSON object per row, or one for the explanation'),
  },
  examples: [
    ["$0 sql 'select count(*) from orders'", 'a table on a terminal, else one JSON object per row'],
    ["$0 sql 'select * from orders where o_custkey = ?' 370", 'with a value'],
    ['$0 sql --file revenue.sql --output revenue.parquet', 'from a file, into a file'],
  ],
  epilogue: 'docs/queries.md#sql says what is supported. The server needs @duckdb/node-api.',
  async run(client, { statement, values, file, parameters, explain, json, format, output }) {
    // Where the statement is in a file all others are values.
    const given = file === undefined || statement === undefined ? values : [statement, ...values]
    const asked = file === undefined ? statement : readText(file)
    if (asked === undefined) throw badRequest('a statement is needed, or a --file that holds it')
    const put = parameters === undefined ? given.map(valueIn) : parsed(parameters)
    if (explain === true || EXPLAIN.test(asked)) {
      const explanation = await client.explainSql(asked, put)
      return printLines(json ? [asJson(explanation)] : explanationLines(explanation))
    }
    const form = rowFormat({ format, output, json })
    return untilSignal((signal) => writeRows(client.sql(asked, put, { signal }), form, output))
  },
})

/** A number by its digits, and null; all else is a text, which becomes what it meets. */
function valueIn(text: string): number | bigint | string | null {
  if (text === 'null') return null
  if (/^-?\d{16,20}$/.test(text)) return BigInt(text)
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

function parsed(text: string): SqlValues {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw badRequest('--parameters takes JSON, such as {"day": "1995-03-15"}', { cause })
  }
}
