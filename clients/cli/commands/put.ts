import type { Argv } from 'yargs'
import { INSERT_MODES, ResultCode } from '../../../protocol/types.js'
import { ExitCode } from '../exit-code.js'
import { KEY_FORMS, parseKey } from '../keys.js'
import { printLines } from '../output.js'
import { parsePayload } from '../payloads.js'
import { clientOptions, withIndex } from '../session.js'

const OUTCOMES: Readonly<Record<number, string>> = {
  [ResultCode.inserted]: 'inserted',
  [ResultCode.replaced]: 'replaced',
  [ResultCode.exists]: 'not inserted: the key is there already',
}

export function addPut(cli: Argv): Argv {
  return cli.command(
    'put <index> <key> <payload>',
    'Store a payload under a key',
    (command) =>
      clientOptions(command)
        .positional('index', { type: 'string', demandOption: true, describe: 'Name of the index' })
        .positional('key', { type: 'string', demandOption: true, describe: KEY_FORMS })
        .positional('payload', {
          type: 'string',
          demandOption: true,
          describe: 'A number for u32 and u64; else a text (UTF-8), or hex digits with --hex',
        })
        .option('mode', {
          choices: INSERT_MODES,
          default: INSERT_MODES[0],
          describe: 'What becomes of payloads that the key has',
        })
        .option('hex', {
          type: 'boolean',
          default: false,
          describe: 'The payload, and a key that is string or bytes, are hex digits',
        })
        .example('$0 put cities 2988507 Paris', 'adds a payload; in a unique index only to a new key')
        .example('$0 put cities 2988507 Lutetia --mode replace', 'puts it in the place of all others')
        .example('$0 put pages example.org/a 17', 'a key that is a text')
        .example(`$0 put sales '[7,"de"]' 1200`, 'a key that is a tuple')
        .example('$0 put hashes 7 0xdeadbeef --hex', 'a payload of four bytes')
        .epilogue('Exit code 1 if the key was there and the index is unique, or the mode ifAbsent.'),
    (options) =>
      withIndex(options, async (index, definition) => {
        const key = parseKey(options.key, definition, options.hex)
        const payload = parsePayload(options.payload, definition, options.hex)
        const [code] = await index.insert([key], [payload], { mode: options.mode })
        await printLines([OUTCOMES[code] ?? `unknown outcome ${code}`])
        if (code === ResultCode.exists) process.exitCode = ExitCode.miss
      }),
  )
}
