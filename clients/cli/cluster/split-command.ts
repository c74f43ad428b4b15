import type { IndexDefinition } from '../../../protocol/types.js'
import { formerName } from '../../sdk/cluster/rename-indexes.js'
import type { Client } from '../../sdk/index.js'
import { argument, clientCommand, JSON_OUTCOME } from '../command.js'
import { type AnyKey, parseKeyEnd } from '../keys.js'
import { printOutcome } from '../output.js'
import { splitShown } from './balance.js'

/** Also of one that a split which ended halfway has left under another name. */
async function definitionOf(client: Client, name: string): Promise<IndexDefinition> {
  const former = (await client.listIndexes()).find((index) => index.name === formerName(name))
  return former ?? client.index(name).definition()
}

export const addSplit = clientCommand({
  usage: 'split <index> [keys..]',
  about: 'Have the parts of an index on replica sets begin at other keys, while it is used',
  positionals: {
    index: argument('Name of the index'),
    keys: {
      type: 'string',
      array: true,
      default: [],
      describe: 'Keys in ascending order; by default those that give each replica set as many entries',
    },
  },
  options: { json: JSON_OUTCOME },
  examples: [
    ['$0 cluster split users 1000000 2000000', 'on three replica sets from now on'],
    ['$0 cluster split users', 'on all replica sets, in parts of one size'],
  ],
  async run(client, { index: name, keys, json }) {
    let splitAt: readonly AnyKey[] | undefined
    if (keys.length > 0) {
      const definition = await definitionOf(client, name)
      splitAt = keys.map((key) => parseKeyEnd(key, definition, false))
    }
    const entries = await splitShown(client, name, splitAt)
    await printOutcome(json, `split, with ${entries} entries`, { entries })
  },
})
