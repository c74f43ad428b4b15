import { parseTraversal } from '../../../protocol/traversal-options.js'
import { argument, flag, indexCommand, text } from '../command.js'
import { ExitCode } from '../exit-code.js'
import { keyAsJson, parseKey, SHOWN_AS_HEX, showKey } from '../keys.js'
import { parseWhole } from '../number-keys.js'
import { asJson, printLines } from '../output.js'
import { payloadAsJson, showPayload } from '../payloads.js'
import { TRAVERSAL_OPTIONS } from '../traversal-options.js'

export const add = indexCommand({
  usage: 'next <index> <key>',
  about: 'Print the entry after a key, or after one of its payloads',
  positionals: { key: argument('Key to go on from, whether it is there or not') },
  options: {
    ...TRAVERSAL_OPTIONS,
    sequence: text(
      'Sequence number of the payload to continue from; by default after all payloads of the key',
    ),
    reverse: flag('The entry before instead of the entry after'),
    steps: { ...text('Most entries, with one request each'), default: '1' },
    json: flag('One JSON object per entry'),
    hex: flag(SHOWN_AS_HEX),
  },
  examples: [
    ['$0 next cities 2988507', 'the key that follows, its first payload, and the sequence number of that'],
    ['$0 get orders 7 --sequences', 'the first payload of a key with its sequence number, 0'],
    ['$0 next orders 7 --sequence 0', 'and what follows it: the second payload of the key, if it has one'],
    ['$0 next orders 7 --sequence 0 --steps 5', 'and four more'],
    ['$0 next pages example.org/b --reverse', 'the key before, and its last payload'],
  ],
  epilogue: 'Exit code 1 if nothing follows.',
  check: parseTraversal,
  async run(index, definition, { hex, json, reverse, strategy, resolution, ...texts }) {
    const { keyType } = definition
    const steps = Number(parseWhole(texts.steps, 'u32', '--steps'))
    let key = parseKey(texts.key, definition, hex)
    let sequence =
      texts.sequence === undefined ? undefined : Number(parseWhole(texts.sequence, 'u32', '--sequence'))
    for (let step = 0; step < steps; step++) {
      const sequences = sequence === undefined ? undefined : Uint32Array.of(sequence)
      const next = await index.getNextMany([key], { reverse, sequences, strategy, resolution })
      if (!next.has(0)) {
        if (step === 0) process.exitCode = ExitCode.miss
        return
      }
      key = next.key(0)
      sequence = next.sequences[0]
      const payload = next.payloads.at(0)
      const line = json
        ? asJson({ key: keyAsJson(key, keyType, hex), payload: payloadAsJson(payload, hex), sequence })
        : `${showKey(key, keyType, hex)}\t${showPayload(payload, definition, hex)}\t${sequence}`
      await printLines([line])
    }
  },
})
