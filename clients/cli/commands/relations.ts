import { clientCommand, flag } from '../command.js'
import { asJson, printLines, relationLines } from '../output.js'

export const add = clientCommand({
  usage: 'relations [relation]',
  about: 'List the relations, or print all figures of one',
  positionals: { relation: { type: 'string', describe: 'Name of a relation' } },
  options: { json: flag('One JSON object a relation') },
  examples: [['$0 relations', 'names, columns, rows and memory']],
  async run(client, { relation, json }) {
    const relations =
      relation === undefined ? (await client.stats()).relations : [await client.relation(relation).stats()]
    const asTable = !json && relation === undefined
    return printLines(asTable ? relationLines(relations) : relations.map(asJson))
  },
})
