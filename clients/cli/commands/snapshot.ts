import { clientCommand, flag } from '../command.js'
import { asJson, bytesText, printLines, table } from '../output.js'

export const add = clientCommand({
  usage: 'snapshot [index]',
  about: 'Take a snapshot of one index, or of everything, so that the next start is fast',
  positionals: { index: { type: 'string', describe: 'Name of the index; all by default' } },
  options: { json: flag('One JSON object per snapshot') },
  examples: [['$0 snapshot', 'of everything, before an upgrade']],
  async run(client, { index: name, json }) {
    const snapshots = await client.takeSnapshot(name)
    if (json) return printLines(snapshots.map(asJson))
    const rows = snapshots.map(({ index, relation, position, bytes }) => {
      return [relation === undefined ? 'index' : 'relation', index ?? relation, position, bytesText(bytes)]
    })
    return printLines(table(['of', 'name', 'position', 'size'], rows))
  },
})
