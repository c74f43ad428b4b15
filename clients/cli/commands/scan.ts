import type { Argv } from 'yargs'
import { WarpdexError } from '../../../protocol/errors.js'
import { keyAsJson, parseKey, showKey, shown } from '../keys.js'
import { asJson, printLines } from '../output.js'
import { payloadAsJson, showPayload } from '../payloads.js'
import { clientOptions, withIndex } from '../session.js'

export function addScan(cli: Argv): Argv {
  return cli.command(
    'scan <index>',
    'Print the entries of a range of keys, in their order',
    (command) =>
      clientOptions(command)
        .positional('index', { type: 'string', demandOption: true, describe: 'Name of the index' })
        .option('from', { type: 'string', requiresArg: true, describe: 'Smallest key' })
        .option('to', { type: 'string', requiresArg: true, describe: 'Largest key' })
        .option('reverse', { type: 'boolean', default: false, describe: 'From the largest key down' })
        .option('limit', { type: 'string', requiresArg: true, describe: 'Entries at the most' })
        .option('json', { type: 'boolean', default: false, describe: 'One JSON object an entry' })
        .option('hex', {
          type: 'boolean',
          default: false,
          describe: 'Show bytes as hex digits, also if they are text',
        })
        .example('$0 scan population --reverse --limit 10', 'the ten largest: the key, a tab, the payload')
        .example('$0 scan population --from 1000000 --to 1100000', 'a range, both ends included')
        .example('$0 scan readings --from=-1e5', 'keys that begin with - follow a =')
        .example('$0 scan old --hex | $0 import new - --hex', 'copies an index'),
    (options) =>
      withIndex(options, async (index, definition) => {
        const { reverse, hex } = options
        const { keyType } = definition
        const from = options.from === undefined ? undefined : parseKey(options.from, definition)
        const to = options.to === undefined ? undefined : parseKey(options.to, definition)
        const limit = options.limit === undefined ? undefined : parseLimit(options.limit)
        for await (const { length, keys, payloads } of index.scan({ from, to, reverse, limit }).pages()) {
          const lines = Array.from({ length }, (_, i) => {
            const payload = payloads.at(i)
            return options.json
              ? asJson({ key: keyAsJson(keys[i], keyType), payload: payloadAsJson(payload, hex) })
              : `${showKey(keys[i], keyType)}\t${showPayload(payload, hex)}`
          })
          await printLines(lines)
        }
      }),
  )
}

function parseLimit(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  throw new WarpdexError('BAD_REQUEST', `--limit is ${shown(text)}; it must be a whole number`)
}
