import type { Argv } from 'yargs'
import { printLines } from '../output.js'
import { clientOptions, withClient } from '../session.js'

export function addDrop(cli: Argv): Argv {
  return cli.command(
    'drop <name>',
    'Drop an index or a relation with all that it holds',
    (command) =>
      clientOptions(command)
        .positional('name', { type: 'string', demandOption: true, describe: 'Name of the index or relation' })
        .option('relation', {
          type: 'boolean',
          default: false,
          describe: 'It is a relation, which goes with the indexes over its columns',
        })
        .option('if-exists', { type: 'boolean', default: false, describe: 'It is right if there is none' })
        .example('$0 drop cities', 'there is no way back'),
    (options) =>
      withClient(options, async (client) => {
        const { name, relation, ifExists } = options
        const dropped = await (relation
          ? client.dropRelation(name, { ifExists })
          : client.dropIndex(name, { ifExists }))
        await printLines([dropped ? 'dropped' : 'not there'])
      }),
  )
}
