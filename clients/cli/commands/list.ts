import { layoutWords } from '../../../protocol/layout-options.js'
import { clientCommand, flag } from '../command.js'
import { asJson, printLines, table } from '../output.js'

export const add = clientCommand({
  usage: 'list',
  about: 'List the indexes',
  options: { json: flag('One JSON object per index') },
  examples: [['$0 list', 'names, key types and payload kinds']],
  async run(client, { json }) {
    const indexes = await client.listIndexes()
    if (json) return printLines(indexes.map(asJson))
    const rows = indexes.map((definition) => {
      const { name, keyType, payloadKind, unique, placement = [] } = definition
      const sets = placement.map(({ set }) => set)
      const where =
        sets.length === 0 ? [] : [`on replica set${sets.length > 1 ? 's' : ''} ${sets.join(', ')}`]
      const more = [...(unique ? ['unique'] : []), ...layoutWords(definition), ...where]
      return [name, keyType, payloadKind, more.join(', ')]
    })
    return printLines(table(['index', 'keys', 'payloads', ''], rows))
  },
})
