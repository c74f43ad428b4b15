import { argument, clientCommand, flag, JSON_OUTCOME } from '../command.js'
import { printOutcome } from '../output.js'

export const add = clientCommand({
  usage: 'drop <name>',
  about: 'Drop an index or a relation with all that it holds',
  positionals: { name: argument('Name of the index or relation') },
  options: {
    relation: flag('It is a relation, which goes with the indexes over its columns'),
    'if-exists': flag('It is right if there is none'),
    json: JSON_OUTCOME,
  },
  examples: [['$0 drop cities', 'there is no way back']],
  async run(client, { name, relation, ifExists, json }) {
    const dropped = await (relation
      ? client.dropRelation(name, { ifExists })
      : client.dropIndex(name, { ifExists }))
    await printOutcome(json, dropped ? 'dropped' : 'not there', { dropped })
  },
})
