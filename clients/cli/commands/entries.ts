import { badRequest } from '../../../protocol/errors.js'
import { quotedText } from '../../../protocol/shown.js'
import { flag, indexCommand, text } from '../command.js'
import { keyAsJson, parseKeyEnd, parsePrefix, SHOWN_AS_HEX, showKey } from '../keys.js'
import { asJson, printLines } from '../output.js'
import { payloadAsJson, showPayload } from '../payloads.js'

export const add = indexCommand({
  usage: 'entries <index>',
  about: 'Print the entries of a range of keys, in their order',
  options: {
    from: text('Smallest key'),
    to: text('Largest key'),
    prefix: {
      ...text('What keys begin with: a text, or leading parts of a tuple as a JSON array'),
      conflicts: ['from', 'to'],
    },
    reverse: flag('From the largest key down'),
    limit: text('Entries at the most'),
    json: flag('One JSON object an entry'),
    hex: flag(SHOWN_AS_HEX),
  },
  examples: [
    ['$0 entries population --reverse --limit 10', 'the ten largest: the key, a tab, the payload'],
    ['$0 entries population --from 1000000 --to 1100000', 'a range, both ends included'],
    ['$0 entries readings --from=-1e5', 'keys that begin with - follow a ='],
    ['$0 entries pages --prefix example.org/', 'keys that begin alike'],
    [`$0 entries sales --prefix '[7]'`, 'tuples that begin alike'],
    ['$0 entries old --hex | $0 import new - --hex', 'copies an index'],
  ],
  async run(index, definition, { reverse, hex, json, ...texts }) {
    const { keyType } = definition
    const end = (key: string | undefined) =>
      key === undefined ? undefined : parseKeyEnd(key, definition, hex)
    const [from, to] = [end(texts.from), end(texts.to)]
    const prefix = texts.prefix === undefined ? undefined : parsePrefix(texts.prefix, definition, hex)
    const limit = texts.limit === undefined ? undefined : parseLimit(texts.limit)
    for await (const page of index.entries({ from, to, prefix, reverse, limit }).pages()) {
      const lines = Array.from({ length: page.length }, (_, i) => {
        const key = page.key(i)
        const payload = page.payloads.at(i)
        return json
          ? asJson({ key: keyAsJson(key, keyType, hex), payload: payloadAsJson(payload, hex) })
          : `${showKey(key, keyType, hex)}\t${showPayload(payload, definition, hex)}`
      })
      await printLines(lines)
    }
  },
})

function parseLimit(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  throw badRequest(`--limit is ${quotedText(text)}; it must be a whole number`)
}
