import type { Argv } from 'yargs'
import { parseKeyType, parsePayloadKind, SCALAR_KEY_TYPES } from '../../../protocol/types.js'
import { printLines } from '../output.js'
import { clientOptions, withClient } from '../session.js'

export function addCreate(cli: Argv): Argv {
  return cli.command(
    'create <index>',
    'Create an index',
    (command) =>
      clientOptions(command)
        .positional('index', { type: 'string', demandOption: true, describe: 'Name of the index' })
        .option('key', {
          type: 'string',
          demandOption: true,
          requiresArg: true,
          describe: `Type of the keys: ${SCALAR_KEY_TYPES.join(', ')}, or a tuple of 2 to 8 of them`,
        })
        .option('payload', {
          type: 'string',
          demandOption: true,
          requiresArg: true,
          describe: 'Kind of the payloads: u32, u64, fixed(n) with n bytes from 1 to 64, or bytes',
        })
        .option('unique', { type: 'boolean', default: false, describe: 'At most one payload a key' })
        .option('if-not-exists', {
          type: 'boolean',
          default: false,
          describe: 'An equal index that is there already is right',
        })
        .example('$0 create cities --key u32 --payload bytes --unique', 'documents by number')
        .example('$0 create pages --key string --payload u32', 'numbers by address')
        .example("$0 create sales --key 'tuple(u32,string)' --payload u64", 'keys of two parts')
        .example("$0 create prints --key u64 --payload 'fixed(16)'", 'sixteen bytes beside each key'),
    async (options) => {
      const { index: name, unique, ifNotExists } = options
      const keyType = parseKeyType(options.key)
      const definition = { name, keyType, payloadKind: parsePayloadKind(options.payload), unique }
      const created = await withClient(options, (client) => client.createIndex(definition, { ifNotExists }))
      await printLines([created ? 'created' : 'there already'])
    },
  )
}
