import { INSERT_MODES, ResultCode } from '../../../protocol/types.js'
import { argument, flag, indexCommand } from '../command.js'
import { ExitCode } from '../exit-code.js'
import { KEY_FORMS, parseKey } from '../keys.js'
import { printLines } from '../output.js'
import { parsePayload } from '../payloads.js'

const OUTCOMES: Readonly<Record<number, string>> = {
  [ResultCode.inserted]: 'inserted',
  [ResultCode.replaced]: 'replaced',
  [ResultCode.exists]: 'not inserted: the key is there already',
}

export const add = indexCommand({
  usage: 'put <index> <key> <payload>',
  about: 'Store a payload under a key',
  positionals: {
    key: argument(KEY_FORMS),
    payload: argument('A number for u32 and u64; else a text (UTF-8), or hex digits with --hex'),
  },
  options: {
    mode: {
      choices: INSERT_MODES,
      default: INSERT_MODES[0],
      describe: 'What becomes of payloads that the key has',
    },
    hex: flag('The payload, and a key that is string or bytes, are hex digits'),
  },
  examples: [
    ['$0 put cities 2988507 Paris', 'adds a payload; in a unique index only to a new key'],
    ['$0 put cities 2988507 Lutetia --mode replace', 'puts it in the place of all others'],
    ['$0 put pages example.org/a 17', 'a key that is a text'],
    [`$0 put sales '[7,"de"]' 1200`, 'a key that is a tuple'],
    ['$0 put hashes 7 0xdeadbeef --hex', 'a payload of four bytes'],
  ],
  epilogue: 'Exit code 1 if the key was there and the index is unique, or the mode ifAbsent.',
  async run(index, definition, { mode, hex, ...texts }) {
    const key = parseKey(texts.key, definition, hex)
    const payload = parsePayload(texts.payload, definition, hex)
    const [code] = await index.insert([key], [payload], { mode })
    await printLines([OUTCOMES[code] ?? `unknown outcome ${code}`])
    if (code === ResultCode.exists) process.exitCode = ExitCode.miss
  },
})
