import { layoutWords } from '../../../protocol/layout-options.js'
import type { ReplyFields } from '../../../protocol/replies.js'
import { clientCommand, flag } from '../command.js'
import { asJson, bytesText, figureLines, printLines, relationLines, table } from '../output.js'

export const add = clientCommand({
  usage: 'stats [index]',
  about: 'Print figures of the server and its indexes, or all of one index',
  positionals: { index: { type: 'string', describe: 'Name of an index' } },
  options: { json: flag('All figures as JSON') },
  examples: [
    ['$0 stats', 'the adapter, memory and sizes'],
    ['$0 stats cities --json', 'everything about one index'],
  ],
  async run(client, { index, json }) {
    if (index === undefined) {
      const stats = await client.stats()
      return printLines(json ? [asJson(stats)] : serverLines(client.server, stats))
    }
    const stats = await client.index(index).stats()
    return printLines(json ? [asJson(stats)] : figureLines(stats))
  },
})

function serverLines(
  hello: ReplyFields['hello'],
  { server, indexes, relations }: ReplyFields['stats'],
): string[] {
  const slow = hello.adapter.software ? ' (a CPU does the work of a GPU: slow)' : ''
  const known = { version: hello.server, adapter: `${hello.adapter.name}${slow}` }
  const rows = indexes.map((index) => {
    const { name, keyType, payloadKind, unique, keys, payloads, deviceBytes } = index
    const holds = [`${keyType} → ${payloadKind}`, ...(unique ? ['unique'] : []), ...layoutWords(index)]
    return [name, holds.join(', '), keys, payloads, bytesText(deviceBytes)]
  })
  return [
    ...figureLines({ ...server, ...known }),
    '',
    ...table(['index', 'holds', 'keys', 'payloads', 'on the device'], rows),
    ...(relations.length === 0 ? [] : ['', ...relationLines(relations)]),
  ]
}
