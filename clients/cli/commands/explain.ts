import type { Argv } from 'yargs'
import { parseTraversal } from '../../../protocol/traversal-options.js'
import { argumentList, flag, indexCommand } from '../command.js'
import { explanationLines } from '../explanation.js'
import { parseKey, showKey } from '../keys.js'
import { asJson, printLines } from '../output.js'
import { TRAVERSAL_OPTIONS } from '../traversal-options.js'

export function add(cli: Argv): Argv {
  return cli.command('explain', 'Explain how a request would be carried out', (command) =>
    addExplainGet(command)
      .demandCommand(1, 'what to explain is missing: get')
      .example('$0 explain get cities 2988507', 'how the server looks the key up')
      .example('$0 explain get pages example.org/a --strategy directed', 'how it would by that strategy'),
  )
}

const addExplainGet = indexCommand({
  usage: 'get <index> <keys..>',
  about: 'Explain how keys would be looked up, with the result tables of the first',
  positionals: { keys: argumentList('Keys to look up') },
  options: {
    ...TRAVERSAL_OPTIONS,
    json: flag('Everything as one JSON object'),
    hex: flag('Read string and bytes keys as hex digits'),
  },
  examples: [
    ['$0 explain get cities 2988507', 'the strategy, estimates of the others, and the tables'],
    ['$0 explain get cities 2988507 --strategy speculative --resolution reversed', 'this way'],
  ],
  epilogue:
    'Tables have one row per partition; NULL is no result. A payload may belong to another key: it was a guess.',
  check: parseTraversal,
  async run(index, definition, { keys: texts, strategy, resolution, json, hex }) {
    const keys = texts.map((key) => parseKey(key, definition, hex))
    const explanation = await index.explain(keys, { strategy, resolution })
    const firstKey = showKey(keys[0], definition.keyType, hex)
    await printLines(json ? [asJson(explanation)] : explanationLines(explanation, firstKey))
  },
})
