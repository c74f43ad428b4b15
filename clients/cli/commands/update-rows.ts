import { Value } from '../../sdk/index.js'
import { argument, clientCommand, JSON_OUTCOME } from '../command.js'
import { jsonOption, parseExpression, parseExpressions } from '../expressions.js'
import { grouped, printOutcome } from '../output.js'

export const add = clientCommand({
  usage: 'update-rows <relation>',
  about: 'Change values in the rows of a relation that satisfy a condition',
  positionals: { relation: argument('Name of the relation') },
  options: {
    where: jsonOption('The condition'),
    set: jsonOption('New values by column'),
    json: JSON_OUTCOME,
  },
  examples: [
    [
      `$0 update-rows orders --where '{"op": "=", "args": [{"column": "id"}, {"value": 7}]}' --set '{"city": {"value": "Aachen"}}'`,
      'of the row with id 7',
    ],
  ],
  epilogue: 'docs/queries.md describes expressions. New values are computed from the old ones.',
  async run(client, { relation, where, set, json }) {
    const values = Object.entries(parseExpressions(set, 'set'))
    const { rows } = await client.relation(relation).updateRows({
      where: new Value(parseExpression(where, 'where')),
      set: Object.fromEntries(values.map(([column, value]) => [column, new Value(value)])),
    })
    await printOutcome(json, `${grouped(rows)} rows updated`, { updated: rows })
  },
})
