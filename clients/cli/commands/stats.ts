import type { ReplyFields } from '../../../protocol/replies.js'
import { layoutWords } from '../../../protocol/traversal-options.js'
import { clientCommand, flag } from '../command.js'
import { asJson, bytesText, printLines, relationLines, table } from '../output.js'

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

/** Figures by name; a list has a line for each of its members. */
function figureLines(figures: Readonly<Record<string, unknown>>): string[] {
  const rows = Object.entries(figures).flatMap(([name, value]) => {
    const members = Array.isArray(value) && value.length > 0 ? value : [value]
    return members.map((member, i) => [i === 0 ? wordsOf(name) : '', shown(name, member)])
  })
  return table(['', ''], rows).slice(1)
}

/** Bytes are in a unit that suits them. */
function shown(name: string, value: unknown): string {
  if (typeof value === 'number' && /bytes$/i.test(name)) return bytesText(value)
  if (typeof value === 'number' && name === 'nextExpiry') return new Date(value).toISOString()
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return asJson(value)
  const parts = Object.entries(value).map(([part, each]) => `${wordsOf(part)} ${shown(part, each)}`)
  return parts.length === 0 ? 'none' : parts.join(', ')
}

function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
