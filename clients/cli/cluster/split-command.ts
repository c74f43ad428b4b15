import type { IndexDefinition } from '../../../protocol/types.js'
import { formerName } from '../../sdk/cluster/control.js'
import type { Client } from '../../sdk/index.js'
import { argument, clientCommand, JSON_OUTCOME } from '../command.js'
import { parseKeyEnd } from '../keys.js'
import { printOutcome } from '../output.js'
import { showProgress } from '../progress.js'

/** Also of one that a split which ended halfway has left under another name. */
async function definitionOf(client: Client, name: string): Promise<IndexDefinition> {
  const former = (await client.listIndexes()).find((index) => index.name === formerName(name))
  return former ?? client.index(name).definition()
}

export const addSplit = clientCommand({
  usage: 'split <index> <keys..>',
  about: 'Have the next replica set begin at other keys of an index, while it is used',
  positionals: {
    index: argument('Name of the index'),
    keys: { type: 'string', array: true, demandOption: true, describe: 'Keys in ascending order' },
  },
  options: { json: JSON_OUTCOME },
  examples: [['$0 cluster split users 1000000 2000000', 'on three replica sets from now on']],
  async run(client, { index: name, keys, json }) {
    const definition = await definitionOf(client, name)
    const splitAt = keys.map((key) => parseKeyEnd(key, definition, false))
    const progress = showProgress(`splitting ${name}`, undefined)
    try {
      const entries = await client.splitIndex(name, splitAt as never, {
        onProgress: ({ step, done }) => progress.update(done, `${step}, ${done}`),
      })
      progress.stop()
      await printOutcome(json, `split, with ${entries} entries`, { entries })
    } finally {
      progress.stop()
    }
  },
})
