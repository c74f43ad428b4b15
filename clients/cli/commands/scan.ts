import type { Argv } from 'yargs'
import { WarpdexError } from '../../../protocol/errors.js'
import { shown } from '../bytes.js'
import { keyAsJson, parseKeyEnd, parsePrefix, showKey } from '../keys.js'
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
        .option('prefix', {
          type: 'string',
          requiresArg: true,
          conflicts: ['from', 'to'],
          describe: 'What keys begin with: a text, or leading parts of a tuple as a JSON array',
        })
        .option('reverse', { type: 'boolean', default: false, describe: 'From the largest key down' })
        .option('limit', { type: 'string', requiresArg: true, describe: 'Entries at the most' })
        .option('json', { type: 'boolean', default: false, describe: 'One JSON object an entry' })
        .option('hex', {
          type: 'boolean',
          default: false,
          describe:
            'Keys that are string or bytes are hex digits; show them and bytes as such, also if they are text',
        })
        .example('$0 scan population --reverse --limit 10', 'the ten largest: the key, a tab, the payload')
        .example('$0 scan population --from 1000000 --to 1100000', 'a range, both ends included')
        .example('$0 scan readings --from=-1e5', 'keys that begin with - follow a =')
        .example('$0 scan pages --prefix example.org/', 'keys that begin alike')
        .example(`$0 scan sales --prefix '[7]'`, 'tuples that begin alike')
        .example('$0 scan old --hex | $0 import new - --hex', 'copies an index'),
    (options) =>
      withIndex(options, async (index, definition) => {
        const { reverse, hex } = options
        const { keyType } = definition
        const end = (text: string | undefined) =>
          text === undefined ? undefined : parseKeyEnd(text, definition, hex)
        const [from, to] = [end(options.from), end(options.to)]
        const prefix = options.prefix === undefined ? undefined : parsePrefix(options.prefix, definition, hex)
        const limit = options.limit === undefined ? undefined : parseLimit(options.limit)
        for await (const page of index.scan({ from, to, prefix, reverse, limit }).pages()) {
          const lines = Array.from({ length: page.length }, (_, i) => {
            const key = page.key(i)
            const payload = page.payloads.at(i)
            return options.json
              ? asJson({ key: keyAsJson(key, keyType, hex), payload: payloadAsJson(payload, hex) })
              : `${showKey(key, keyType, hex)}\t${showPayload(payload, hex)}`
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
