import { argument, clientCommand } from '../command.js'
import { printLines } from '../output.js'

export const add = clientCommand({
  usage: 'swap <one> <other>',
  about: "Give two indexes each other's names in one step",
  positionals: { one: argument('Name of an index'), other: argument('Name of another') },
  examples: [['$0 swap cities cities-new', 'cities is the new build; the old one can be dropped']],
  async run(client, { one, other }) {
    await client.swapIndexes(one, other)
    await printLines(['swapped'])
  },
})
