import type { Argv } from 'yargs'
import { printLines } from '../output.js'
import { clientOptions, withClient } from '../session.js'

export function addDrop(cli: Argv): Argv {
  return cli.command(
    'drop <index>',
    'Drop an index with all that it holds',
    (command) =>
      clientOptions(command)
        .positional('index', { type: 'string', demandOption: true, describe: 'Name of the index' })
        .option('if-exists', { type: 'boolean', default: false, describe: 'A missing index is right' })
        .example('$0 drop cities', 'there is no way back'),
    (options) =>
      withClient(options, async (client) => {
        const dropped = await client.dropIndex(options.index, { ifExists: options.ifExists })
        await printLines([dropped ? 'dropped' : 'not there'])
      }),
  )
}
