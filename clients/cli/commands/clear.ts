import { badRequest } from '../../../protocol/errors.js'
import { flag, indexCommand, JSON_OUTCOME } from '../command.js'
import { parseRange, RANGE_OPTIONS } from '../key-range.js'
import { printOutcome } from '../output.js'

export const add = indexCommand({
  usage: 'clear <index>',
  about: 'Delete all entries of a range of keys at once',
  options: {
    ...RANGE_OPTIONS,
    all: flag('All entries of the index'),
    hex: flag('Read string and bytes keys as hex digits'),
    json: JSON_OUTCOME,
  },
  examples: [
    ['$0 clear events --to 1700000000', 'what is older than that'],
    [`$0 clear sales --prefix '[7]'`, 'tuples with a common prefix'],
    ['$0 clear scratch --all', 'everything; drop removes the index too'],
  ],
  check({ from, to, prefix, all }) {
    const isRange = from !== undefined || to !== undefined || prefix !== undefined
    if (isRange !== all) return
    throw badRequest('clear takes --from, --to or --prefix, or --all for all entries')
  },
  async run(index, definition, { hex, json, ...texts }) {
    const deleted = await index.deleteRange(parseRange(texts, definition, hex))
    await printOutcome(json, `${deleted} deleted`, { deleted })
  },
})
