import { badRequest } from '../../../protocol/errors.js'
import { parseLayout } from '../../../protocol/layout-options.js'
import { LIMITS } from '../../../protocol/limits.js'
import { quotedText } from '../../../protocol/shown.js'
import { ALLOCATIONS, LAYOUTS, type PartitionLevels, STRUCTURES } from '../../../protocol/traversal.js'
import { type KeyType, parseKeyType, parsePayloadKind, SCALAR_KEY_TYPES } from '../../../protocol/types.js'
import type { Client, CreateOptions, Keys } from '../../sdk/index.js'
import { argument, command, flag, JSON_OUTCOME, text } from '../command.js'
import { createOnce } from '../creating.js'
import { parseKeyEnd } from '../keys.js'
import { printOutcome } from '../output.js'
import { CLIENT_OPTIONS, withClient } from '../session.js'

const OPTIONS = {
  ...CLIENT_OPTIONS,
  key: text(`Type of the keys: ${SCALAR_KEY_TYPES.join(', ')}, or a tuple of 2 to 8 of them`),
  payload: text('Kind of the payloads: u32, u64, fixed(n) with n bytes from 1 to 64, bytes, text or json'),
  relation: {
    ...text('Instead of --key and --payload: the relation to index'),
    implies: 'columns',
    conflicts: ['key', 'payload'],
  },
  columns: {
    ...text('Columns of the relation to index, such as city,street'),
    implies: 'relation',
  },
  unique: flag('At most one payload per key'),
  json: JSON_OUTCOME,
  ttl: text('Seconds until entries expire, unless their write says otherwise; 0 keeps those'),
  structure: {
    choices: STRUCTURES,
    requiresArg: true,
    describe: 'prefix tree, or CSS-tree: smaller and faster to read; the server chooses unless told',
  },
  layout: {
    choices: LAYOUTS,
    default: LAYOUTS[0],
    requiresArg: true,
    describe: 'compact, or every key down all levels of the tree',
  },
  allocation: {
    choices: ALLOCATIONS,
    default: ALLOCATIONS[0],
    requiresArg: true,
    describe: 'Where nodes of a full tree lie: where there is room, or interleaved',
  },
  'partition-levels': text(
    `Levels of a partition, which strategies other than sequential need: 1 to ${LIMITS.partitionLevels}, auto, or none`,
  ),
  linked: flag('Link keys in order: faster scans for 8 bytes per key and slightly slower writes'),
  'split-at': {
    type: 'string',
    array: true,
    describe: 'In a cluster: keys at which the next replica set begins; without them the index is on one',
  },
  'if-not-exists': flag('Succeed if an equal index exists'),
} as const

export const add = command({
  usage: 'create <index>',
  about: 'Create an index',
  positionals: { index: argument('Name of the index') },
  options: OPTIONS,
  examples: [
    ['$0 create cities --key u32 --payload bytes --unique', 'documents by number'],
    ['$0 create pages --key string --payload u32', 'numbers by address'],
    ["$0 create sales --key 'tuple(u32,string)' --payload u64", 'keys of two parts'],
    ['$0 create urls --key string --payload u32 --structure prefix', 'for all strategies'],
    ["$0 create 'by city' --relation orders --columns city", 'rows of a relation'],
    ['$0 create events --key u64 --payload u64 --linked', 'for many scans'],
    ['$0 create users --key u64 --payload u32 --split-at 1000000 2000000', 'on three replica sets'],
    ['$0 create sessions --key string --payload json --unique --ttl 3600', 'gone after an hour'],
    ["$0 create prints --key u64 --payload 'fixed(16)'", 'sixteen bytes beside each key'],
  ],
  async run(options) {
    const { index: name, unique, ifNotExists, key, payload, relation, columns } = options
    const ttl = parseTtl(options.ttl)
    const { structure, layout, allocation, linked } = options
    const partitionLevels = parsePartitionLevels(options.partitionLevels)
    const form = parseLayout({ structure, layout, allocation, partitionLevels, linked })
    let create: (client: Client, options: CreateOptions) => Promise<unknown>
    if (relation !== undefined && columns !== undefined && !unique && ttl === undefined) {
      create = (client, options) =>
        client.relation(relation).createIndex(name, columns.split(','), { ...form, ...options })
    } else if (key !== undefined && payload !== undefined) {
      const kinds = { keyType: parseKeyType(key), payloadKind: parsePayloadKind(payload) }
      const definition = { name, ...kinds, unique, ttl, ...form }
      const splitAt = options.splitAt?.map((key) => parseKeyEnd(key, definition, false))
      // Keys of that type were read.
      create = (client, options) =>
        client.createIndex(definition, { splitAt: splitAt as Keys<KeyType>, ...options })
    } else {
      const message =
        'an index has --key and --payload, or --relation and --columns, and neither --unique nor --ttl'
      throw badRequest(`${message}; --help shows what is right`)
    }
    const created = await withClient(options, (client) => {
      if (ifNotExists) return createOnce((options) => create(client, options))
      return create(client, {}).then(() => true)
    })
    await printOutcome(options.json, created ? 'created' : 'there already', { created })
  },
})

function parseTtl(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return Number(text)
  throw badRequest(`--ttl is ${quotedText(text)}; it must be a whole number of seconds`)
}

function parsePartitionLevels(text: string | undefined): PartitionLevels | undefined {
  if (text === undefined || text === 'auto' || text === 'none') return text
  if (/^\d+$/.test(text)) return Number(text)
  throw badRequest(`--partition-levels is ${quotedText(text)}; it must be a whole number, auto or none`)
}
