import { clientCommand, flag } from '../command.js'
import { columnSpec } from '../import/column-spec.js'
import { asJson, figureLines, printLines, relationLines } from '../output.js'

export const add = clientCommand({
  usage: 'relations [relation]',
  about: 'List the relations, or print all figures of one',
  positionals: { relation: { type: 'string', describe: 'Name of a relation' } },
  options: { json: flag('One JSON object per relation') },
  examples: [['$0 relations', 'names, columns, rows and memory']],
  async run(client, { relation, json }) {
    if (relation !== undefined) {
      const stats = await client.relation(relation).stats()
      return printLines(
        json ? [asJson(stats)] : figureLines({ ...stats, columns: columnSpec(stats.columns) }),
      )
    }
    const { relations } = await client.stats()
    return printLines(json ? relations.map(asJson) : relationLines(relations))
  },
})
