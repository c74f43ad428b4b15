import { clientCommand } from '../command.js'
import { bytesText, printLines, table } from '../output.js'

export const add = clientCommand({
  usage: 'snapshot [index]',
  about: 'Take a snapshot of one index, or of all indexes and relations, so that a restart is fast',
  positionals: { index: { type: 'string', describe: 'Name of the index; all by default' } },
  examples: [['$0 snapshot', 'of all indexes, before the server is updated']],
  async run(client, given) {
    const snapshots = await client.takeSnapshot(given.index)
    const rows = snapshots.map(({ index, relation, position, bytes }) => {
      return [relation === undefined ? 'index' : 'relation', index ?? relation, position, bytesText(bytes)]
    })
    return printLines(table(['of', 'name', 'position', 'size'], rows))
  },
})
