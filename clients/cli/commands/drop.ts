import { argument, clientCommand, flag, JSON_OUTCOME } from '../command.js'
import { printOutcome } from '../output.js'

export const add = clientCommand({
  usage: 'drop <name>',
  about: 'Drop an index or a relation with everything in it',
  positionals: { name: argument('Name of the index or relation') },
  options: {
    relation: flag('Drop a relation, with the indexes over its columns'),
    'if-exists': flag('Succeed if there is none'),
    json: JSON_OUTCOME,
  },
  examples: [['$0 drop cities', 'cannot be undone']],
  async run(client, { name, relation, ifExists, json }) {
    const dropped = await (relation
      ? client.dropRelation(name, { ifExists })
      : client.dropIndex(name, { ifExists }))
    await printOutcome(json, dropped ? 'dropped' : 'not there', { dropped })
  },
})
