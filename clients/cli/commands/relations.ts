import type { Argv } from 'yargs'
import { asJson, printLines, relationLines } from '../output.js'
import { clientOptions, withClient } from '../session.js'

export function addRelations(cli: Argv): Argv {
  return cli.command(
    'relations [relation]',
    'List the relations, or print all figures of one',
    (command) =>
      clientOptions(command)
        .positional('relation', { type: 'string', describe: 'Name of a relation' })
        .option('json', { type: 'boolean', default: false, describe: 'One JSON object a relation' })
        .example('$0 relations', 'names, columns, rows and memory'),
    (options) =>
      withClient(options, async (client) => {
        const { relation } = options
        const relations =
          relation === undefined
            ? (await client.stats()).relations
            : [await client.relation(relation).stats()]
        if (options.json || relation !== undefined) return printLines(relations.map(asJson))
        return printLines(relationLines(relations))
      }),
  )
}
