import type { Argv } from 'yargs'
import { bytesText, printLines, table } from '../output.js'
import { clientOptions, withClient } from '../session.js'

export function addSnapshot(cli: Argv): Argv {
  return cli.command(
    'snapshot [index]',
    'Take a snapshot of one index, or of all indexes and relations, so that a restart is fast',
    (command) =>
      clientOptions(command)
        .positional('index', { type: 'string', describe: 'Name of the index; all by default' })
        .example('$0 snapshot', 'of all indexes, before the server is updated'),
    (options) =>
      withClient(options, async (client) => {
        const snapshots = await client.snapshot(options.index)
        const rows = snapshots.map(({ index, relation, position, bytes }) => {
          return [
            relation === undefined ? 'index' : 'relation',
            index ?? relation,
            position,
            bytesText(bytes),
          ]
        })
        return printLines(table(['of', 'name', 'position', 'size'], rows))
      }),
  )
}
