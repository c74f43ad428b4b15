import { ResultCode } from '../../../protocol/types.js'
import { argumentList, flag, indexCommand, text } from '../command.js'
import { ExitCode } from '../exit-code.js'
import { keyAsJson, parseKey, showKey } from '../keys.js'
import { asJson, printLines } from '../output.js'
import { parsePayload } from '../payloads.js'

export const add = indexCommand({
  usage: 'delete <index> <keys..>',
  about: 'Delete keys with all their payloads, or one payload of them',
  positionals: { keys: argumentList('Keys to delete') },
  options: {
    payload: text('Delete only payloads that equal this one'),
    hex: flag('Read the payload, and string or bytes keys, as hex digits'),
    json: flag('One JSON object per key'),
  },
  examples: [
    ['$0 delete cities 2988507 2643743', 'both keys with all their payloads'],
    ['$0 delete population 1000000 --payload 17', 'one of the payloads of a key'],
    [`$0 delete sales '[7,"de"]'`, 'a key that is a tuple'],
  ],
  epilogue: 'Exit code 1 if something was not found.',
  async run(index, definition, { keys: texts, payload, hex, json }) {
    const keys = texts.map((key) => parseKey(key, definition, hex))
    const pairs =
      payload === undefined ? {} : { payloads: keys.map(() => parsePayload(payload, definition, hex)) }
    const codes = await index.deleteMany(keys, pairs)
    const { keyType } = definition
    const lines = keys.map((key, i) => {
      const deleted = codes[i] === ResultCode.deleted
      if (json) return asJson({ key: keyAsJson(key, keyType, hex), deleted })
      return `${showKey(key, keyType, hex)}\t${deleted ? 'deleted' : '(not found)'}`
    })
    await printLines(lines)
    if (codes.some((code) => code !== ResultCode.deleted)) process.exitCode = ExitCode.miss
  },
})
