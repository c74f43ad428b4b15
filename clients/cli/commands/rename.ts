import { argument, clientCommand, JSON_OUTCOME } from '../command.js'
import { printOutcome } from '../output.js'

export const add = clientCommand({
  usage: 'rename <name> <to>',
  about: 'Give an index a name that none has',
  positionals: { name: argument('Name of the index'), to: argument('Its name from then on') },
  options: { json: JSON_OUTCOME },
  examples: [['$0 rename cities-new cities', 'where cities was dropped; swap where it is still there']],
  async run(client, { name, to, json }) {
    await client.renameIndex(name, to)
    await printOutcome(json, 'renamed', { renamed: true })
  },
})
