import type { Argv } from 'yargs'
import { WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import { ALLOCATIONS, LAYOUTS, STRUCTURES } from '../../../protocol/traversal.js'
import { parseLayout } from '../../../protocol/traversal-options.js'
import { parseKeyType, parsePayloadKind, SCALAR_KEY_TYPES } from '../../../protocol/types.js'
import type { Client } from '../../sdk/index.js'
import { shown } from '../bytes.js'
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
          requiresArg: true,
          describe: `Type of the keys: ${SCALAR_KEY_TYPES.join(', ')}, or a tuple of 2 to 8 of them`,
        })
        .option('payload', {
          type: 'string',
          requiresArg: true,
          describe: 'Kind of the payloads: u32, u64, fixed(n) with n bytes from 1 to 64, or bytes',
        })
        .option('relation', {
          type: 'string',
          requiresArg: true,
          implies: 'columns',
          conflicts: ['key', 'payload'],
          describe: 'Instead of --key and --payload: the relation whose rows it finds by values',
        })
        .option('columns', {
          type: 'string',
          requiresArg: true,
          implies: 'relation',
          describe: 'Columns of the relation that have these values, such as city,street',
        })
        .option('unique', { type: 'boolean', default: false, describe: 'At most one payload a key' })
        .option('structure', {
          choices: STRUCTURES,
          requiresArg: true,
          describe: 'prefix tree, or CSS-tree: smaller and faster to read; the server chooses unless told',
        })
        .option('layout', {
          choices: LAYOUTS,
          default: LAYOUTS[0],
          requiresArg: true,
          describe: 'compact, or every key down all levels of the tree',
        })
        .option('allocation', {
          choices: ALLOCATIONS,
          default: ALLOCATIONS[0],
          requiresArg: true,
          describe: 'Where nodes of a full tree lie: where there is room, or interleaved',
        })
        .option('partition-levels', {
          type: 'string',
          requiresArg: true,
          describe: `Levels of a partition, which strategies other than sequential need: 1 to ${LIMITS.partitionLevels}, or auto`,
        })
        .option('linked', {
          type: 'boolean',
          default: false,
          describe: 'Link keys in their order: faster scans for 8 bytes a key and slightly slower writes',
        })
        .option('if-not-exists', {
          type: 'boolean',
          default: false,
          describe: 'An equal index that is there already is right',
        })
        .example('$0 create cities --key u32 --payload bytes --unique', 'documents by number')
        .example('$0 create pages --key string --payload u32', 'numbers by address')
        .example("$0 create sales --key 'tuple(u32,string)' --payload u64", 'keys of two parts')
        .example('$0 create urls --key string --payload u32 --partition-levels auto', 'for all strategies')
        .example("$0 create 'by city' --relation orders --columns city", 'rows of a relation')
        .example('$0 create events --key u64 --payload u64 --linked', 'to be scanned often')
        .example("$0 create prints --key u64 --payload 'fixed(16)'", 'sixteen bytes beside each key'),
    async (options) => {
      const { index: name, unique, ifNotExists, key, payload, relation, columns } = options
      const { structure, layout, allocation, linked } = options
      const partitionLevels = parsePartitionLevels(options.partitionLevels)
      const form = parseLayout({ structure, layout, allocation, partitionLevels, linked })
      let create: (client: Client) => Promise<boolean>
      if (relation !== undefined && columns !== undefined && !unique) {
        create = (client) =>
          client.relation(relation).createIndex(name, columns.split(','), { ...form, ifNotExists })
      } else if (key !== undefined && payload !== undefined) {
        const definition = {
          name,
          keyType: parseKeyType(key),
          payloadKind: parsePayloadKind(payload),
          unique,
        }
        create = (client) => client.createIndex({ ...definition, ...form }, { ifNotExists })
      } else {
        const message = 'an index has --key and --payload, or --relation and --columns and is not --unique'
        throw new WarpdexError('BAD_REQUEST', `${message}; --help shows what is right`)
      }
      const created = await withClient(options, create)
      await printLines([created ? 'created' : 'there already'])
    },
  )
}

function parsePartitionLevels(text: string | undefined): number | 'auto' | undefined {
  if (text === undefined || text === 'auto') return text
  if (/^\d+$/.test(text)) return Number(text)
  throw new WarpdexError(
    'BAD_REQUEST',
    `--partition-levels is ${shown(text)}; it must be a whole number or auto`,
  )
}
