import type { Argv } from 'yargs'
import { explanationLines } from '../explanation.js'
import { parseKey, showKey } from '../keys.js'
import { asJson, printLines } from '../output.js'
import { clientOptions, withIndex } from '../session.js'
import { traversalOptions } from '../traversal-options.js'

export function addExplain(cli: Argv): Argv {
  return cli.command('explain', 'Say how a request would be carried out, and why', (command) =>
    addExplainGet(command)
      .demandCommand(1, 'what to explain is missing: get')
      .example('$0 explain get cities 2988507', 'how the server looks the key up')
      .example('$0 explain get pages example.org/a --strategy directed', 'how it would by that strategy'),
  )
}

function addExplainGet(cli: Argv): Argv {
  return cli.command(
    'get <index> <keys..>',
    'Say how keys would be looked up, with the result tables of the first',
    (command) =>
      traversalOptions(clientOptions(command))
        .positional('index', { type: 'string', demandOption: true, describe: 'Name of the index' })
        .positional('keys', { type: 'string', array: true, demandOption: true, describe: 'Keys to look up' })
        .option('json', { type: 'boolean', default: false, describe: 'All of it as one JSON object' })
        .option('hex', {
          type: 'boolean',
          default: false,
          describe: 'Keys that are string or bytes are hex digits',
        })
        .example('$0 explain get cities 2988507', 'the strategy, what others would take, and the tables')
        .example('$0 explain get cities 2988507 --strategy speculative --resolution reversed', 'this way')
        .epilogue(
          'Tables have a row a partition; NULL is nothing. A payload may be of another key: it was a guess.',
        ),
    (options) =>
      withIndex(options, async (index, definition) => {
        const keys = options.keys.map((text) => parseKey(text, definition, options.hex))
        const { strategy, resolution } = options
        const explanation = await index.explain(keys, { strategy, resolution })
        const firstKey = showKey(keys[0], definition.keyType, options.hex)
        await printLines(options.json ? [asJson(explanation)] : explanationLines(explanation, firstKey))
      }),
  )
}
