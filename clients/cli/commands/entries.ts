import type { KeyType } from '../../../protocol/types.js'
import type { Index, ScanOptions } from '../../sdk/index.js'
import { flag, indexCommand, parseLimit, text } from '../command.js'
import { parseRange, RANGE_OPTIONS } from '../key-range.js'
import { keyAsJson, SHOWN_AS_HEX, showKey } from '../keys.js'
import { asJson, printLines } from '../output.js'
import { payloadAsJson, showPayload } from '../payloads.js'

export const add = indexCommand({
  usage: 'entries <index>',
  about: 'Print the entries of a range of keys, in order',
  options: {
    ...RANGE_OPTIONS,
    reverse: flag('From the largest key down'),
    limit: text('Most entries'),
    only: {
      choices: ['keys', 'payloads'],
      requiresArg: true,
      describe: 'Print and transfer only this half of each entry',
    },
    json: flag('One JSON object per entry'),
    hex: flag(SHOWN_AS_HEX),
  },
  examples: [
    ['$0 entries population --reverse --limit 10', 'the ten largest: the key, a tab, the payload'],
    ['$0 entries population --from 1000000 --to 1100000', 'a range, both ends included'],
    ['$0 entries readings --from=-1e5', 'write keys that begin with - after ='],
    ['$0 entries pages --prefix example.org/', 'keys with a common prefix'],
    [`$0 entries sales --prefix '[7]'`, 'tuples with a common prefix'],
    ['$0 entries pages --only keys', 'one key per line, as often as it has payloads'],
    ['$0 entries old --hex | $0 import new - --hex', 'copies an index'],
  ],
  async run(index, definition, { reverse, only, hex, json, limit: most, ...texts }) {
    const limit = most === undefined ? undefined : parseLimit(most)
    const options = { ...parseRange(texts, definition, hex), reverse, limit }
    for await (const page of pagesOf(index, only, options)) {
      const lines = Array.from({ length: page.length }, (_, i) => {
        const key = 'keys' in page ? page.keys.at(i) : undefined
        const payload = 'payloads' in page ? page.payloads.at(i) : undefined
        if (json) {
          return asJson({
            key: key === undefined ? undefined : keyAsJson(key, definition.keyType, hex),
            payload: payload === undefined ? undefined : payloadAsJson(payload, hex),
          })
        }
        const shown = [
          key === undefined ? [] : showKey(key, definition.keyType, hex),
          payload === undefined ? [] : showPayload(payload, definition, hex),
        ]
        return shown.flat().join('\t')
      })
      await printLines(lines)
    }
  },
})

function pagesOf(index: Index, only: string | undefined, options: ScanOptions<KeyType>) {
  if (only === 'keys') return index.keys(options).pages()
  return only === 'payloads' ? index.values(options).pages() : index.entries(options).pages()
}
