import { flag, indexCommand, JSON_OUTCOME } from '../command.js'
import { parseRange, RANGE_OPTIONS } from '../key-range.js'
import { printOutcome } from '../output.js'

export const add = indexCommand({
  usage: 'count <index>',
  about: 'Count the entries of a range of keys',
  options: {
    ...RANGE_OPTIONS,
    hex: flag('Read string and bytes keys as hex digits'),
    json: JSON_OUTCOME,
  },
  examples: [
    ['$0 count population --from 1000000', 'keys of at least a million'],
    ['$0 count pages --prefix example.org/', 'keys with a common prefix'],
  ],
  async run(index, definition, { hex, json, ...texts }) {
    const [count] = await index.countRanges([parseRange(texts, definition, hex)])
    await printOutcome(json, String(count), { count })
  },
})
