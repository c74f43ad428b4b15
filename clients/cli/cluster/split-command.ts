import { argument, clientCommand, JSON_OUTCOME } from '../command.js'
import { parseKeyEnd } from '../keys.js'
import { printOutcome } from '../output.js'
import { showProgress } from '../progress.js'

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
    const definition = await client.index(name).definition()
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
