import { Value } from '../../sdk/index.js'
import { argument, clientCommand, JSON_OUTCOME } from '../command.js'
import { jsonOption, parseExpression } from '../expressions.js'
import { grouped, printOutcome } from '../output.js'

export const add = clientCommand({
  usage: 'delete-rows <relation>',
  about: 'Delete the rows of a relation that satisfy a condition',
  positionals: { relation: argument('Name of the relation') },
  options: { where: jsonOption('The condition'), json: JSON_OUTCOME },
  examples: [
    [
      `$0 delete-rows orders --where '{"op": "=", "args": [{"column": "id"}, {"value": 7}]}'`,
      'the row with id 7',
    ],
  ],
  epilogue: 'docs/queries.md describes expressions; {"value": true} matches all rows.',
  async run(client, { relation, where, json }) {
    const deleted = await client.relation(relation).deleteRows({
      where: new Value(parseExpression(where, 'where')),
    })
    await printOutcome(json, `${grouped(deleted)} rows deleted`, { deleted })
  },
})
