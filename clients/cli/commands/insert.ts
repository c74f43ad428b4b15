import { indexCommand, JSON_OUTCOME } from '../command.js'
import { STORED, STORED_AS_HEX, store } from '../storing.js'

export const add = indexCommand({
  usage: 'insert <index> <key> <payload>',
  about: 'Add a payload to a key',
  positionals: STORED,
  options: {
    'if-exists': {
      choices: ['add', 'keep'],
      default: 'add',
      describe: 'What becomes of the payload if the key is there already',
    },
    hex: STORED_AS_HEX,
    json: JSON_OUTCOME,
  },
  examples: [
    [
      '$0 insert population 1000000 17',
      'after the other payloads of the key; in a unique index only for a new key',
    ],
    ['$0 insert population 1000000 17 --if-exists keep', 'only for a new key'],
  ],
  epilogue: 'Exit code 1 if the key was there and the index is unique, or --if-exists keep.',
  run: (index, definition, { ifExists, ...given }) =>
    store(given, definition, (keys, payloads) => index.insertMany(keys, payloads, { ifExists })),
})
