import type { IndexDefinition } from '../../../protocol/types.js'
import type { Change } from '../../sdk/index.js'
import { flag, indexCommand, parseLimit, text } from '../command.js'
import { type AnyKey, keyAsJson, SHOWN_AS_HEX } from '../keys.js'
import { asJson, printLines } from '../output.js'
import { payloadAsJson } from '../payloads.js'

export const add = indexCommand({
  usage: 'watch <index>',
  about: 'Print changes of an index, one JSON object per change, until interrupted',
  options: {
    from: text(
      'Position that was printed with a change, to go on behind its batch; only what comes without it',
    ),
    limit: text('Most batches'),
    hex: flag(SHOWN_AS_HEX),
    json: flag('Always on: the output is JSON'),
  },
  examples: [
    ['$0 watch population', 'changes from now on'],
    ['$0 watch population --from 1.1.42', 'changes after a batch, then new ones'],
  ],
  async run(index, definition, { from, limit: most, hex }) {
    let left = most === undefined ? Number.POSITIVE_INFINITY : parseLimit(most)
    if (left === 0) return
    for await (const batch of index.watch({ from })) {
      const { position } = batch
      await printLines(
        Array.from(batch, (change) => asJson({ position, ...changeAsJson(change, definition, hex) })),
      )
      if (--left === 0) return
    }
  },
})

function changeAsJson(
  change: Change<IndexDefinition['keyType'], IndexDefinition['payloadKind']>,
  { keyType }: IndexDefinition,
  hex: boolean,
): object {
  const shown = (key: AnyKey | undefined) => (key === undefined ? undefined : keyAsJson(key, keyType, hex))
  if (change.op === 'deleteRange') {
    return { ...change, from: shown(change.from), to: shown(change.to) }
  }
  const { op, payload } = change
  const expireAt = op === 'delete' ? undefined : change.expireAt
  const key = shown(change.key)
  return payload === undefined ? { op, key } : { op, key, payload: payloadAsJson(payload, hex), expireAt }
}
