import type { Argv } from 'yargs'
import { layoutWords } from '../../../protocol/traversal-options.js'
import { asJson, printLines, table } from '../output.js'
import { clientOptions, withClient } from '../session.js'

export function addList(cli: Argv): Argv {
  return cli.command(
    'list',
    'List the indexes',
    (command) =>
      clientOptions(command)
        .option('json', { type: 'boolean', default: false, describe: 'One JSON object an index' })
        .example('$0 list', 'names, key types and payload kinds'),
    (options) =>
      withClient(options, async (client) => {
        const indexes = await client.listIndexes()
        if (options.json) return printLines(indexes.map(asJson))
        const rows = indexes.map((definition) => {
          const { name, keyType, payloadKind, unique } = definition
          const more = [...(unique ? ['unique'] : []), ...layoutWords(definition)]
          return [name, keyType, payloadKind, more.join(', ')]
        })
        return printLines(table(['index', 'keys', 'payloads', ''], rows))
      }),
  )
}
