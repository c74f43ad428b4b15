import { indexCommand, JSON_OUTCOME } from '../command.js'
import { STORED, STORED_AS_HEX, store } from '../storing.js'

export const add = indexCommand({
  usage: 'put <index> <key> <payload>',
  about: 'Store a payload, replacing all that the key has',
  positionals: STORED,
  options: { hex: STORED_AS_HEX, json: JSON_OUTCOME },
  examples: [
    ['$0 put cities 2988507 Paris', 'a key that is a number, and a text'],
    ['$0 put pages example.org/a 17', 'a key that is a text'],
    [`$0 put sales '[7,"de"]' 1200`, 'a key that is a tuple'],
    ['$0 put hashes 7 0xdeadbeef --hex', 'a payload of four bytes'],
  ],
  run: (index, definition, given) =>
    store(given, definition, (keys, payloads) => index.putMany(keys, payloads)),
})
