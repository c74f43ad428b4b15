import { argument, clientCommand, JSON_OUTCOME } from '../command.js'
import { printOutcome } from '../output.js'

export const add = clientCommand({
  usage: 'rename <name> <to>',
  about: 'Rename an index',
  positionals: { name: argument('Name of the index'), to: argument('Its name from then on') },
  options: { json: JSON_OUTCOME },
  examples: [['$0 rename cities-new cities', 'if cities was dropped; use swap if it still exists']],
  async run(client, { name, to, json }) {
    await client.renameIndex(name, to)
    await printOutcome(json, 'renamed', { renamed: true })
  },
})
