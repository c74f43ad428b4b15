import { argument, clientCommand, JSON_OUTCOME } from '../command.js'
import { printOutcome } from '../output.js'

export const add = clientCommand({
  usage: 'swap <one> <other>',
  about: "Give two indexes each other's names in one step",
  positionals: { one: argument('Name of an index'), other: argument('Name of another') },
  options: { json: JSON_OUTCOME },
  examples: [['$0 swap cities cities-new', 'cities is the new build; the old one can be dropped']],
  async run(client, { one, other, json }) {
    await client.swapIndexes(one, other)
    await printOutcome(json, 'swapped', { swapped: true })
  },
})
