import type { Argv } from 'yargs'
import { ResultCode } from '../../../protocol/types.js'
import { ExitCode } from '../exit-code.js'
import { parseKey, showKey } from '../keys.js'
import { printLines } from '../output.js'
import { parsePayload } from '../payloads.js'
import { clientOptions, withIndex } from '../session.js'

export function addDel(cli: Argv): Argv {
  return cli.command(
    'del <index> <keys..>',
    'Delete keys with all their payloads, or one payload of them',
    (command) =>
      clientOptions(command)
        .positional('index', { type: 'string', demandOption: true, describe: 'Name of the index' })
        .positional('keys', { type: 'string', array: true, demandOption: true, describe: 'Keys to delete' })
        .option('payload', {
          type: 'string',
          requiresArg: true,
          describe: 'Delete only payloads that equal this one',
        })
        .option('hex', {
          type: 'boolean',
          default: false,
          describe: 'The payload, and keys that are string or bytes, are hex digits',
        })
        .example('$0 del cities 2988507 2643743', 'both keys with all their payloads')
        .example('$0 del population 1000000 --payload 17', 'one of the payloads of a key')
        .example(`$0 del sales '[7,"de"]'`, 'a key that is a tuple')
        .epilogue('Exit code 1 if something was not found.'),
    (options) =>
      withIndex(options, async (index, definition) => {
        const keys = options.keys.map((text) => parseKey(text, definition, options.hex))
        const { payload } = options
        const pairs =
          payload === undefined
            ? {}
            : { payloads: keys.map(() => parsePayload(payload, definition, options.hex)) }
        const codes = await index.delete(keys, pairs)
        const outcome = (i: number) => (codes[i] === ResultCode.deleted ? 'deleted' : '(not found)')
        await printLines(
          keys.map((key, i) => `${showKey(key, definition.keyType, options.hex)}\t${outcome(i)}`),
        )
        if (codes.some((code) => code !== ResultCode.deleted)) process.exitCode = ExitCode.miss
      }),
  )
}
