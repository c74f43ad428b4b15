import type { IndexDefinition } from '../../../protocol/types.js'
import type { Change } from '../../sdk/index.js'
import { flag, indexCommand, parseLimit, text } from '../command.js'
import { type AnyKey, keyAsJson, SHOWN_AS_HEX } from '../keys.js'
import { asJson, printLines } from '../output.js'
import { payloadAsJson } from '../payloads.js'

export const add = indexCommand({
  usage: 'watch <index>',
  about: 'Print what is written to an index, a JSON object a change, until it is interrupted',
  options: {
    from: text(
      'Position that was printed with a change, to go on behind its batch; only what comes without it',
    ),
    limit: text('Batches at the most'),
    hex: flag(SHOWN_AS_HEX),
    json: flag('What it does in any case'),
  },
  examples: [
    ['$0 watch population', 'what comes'],
    ['$0 watch population --from 1.1.42', 'what came behind a batch, and what comes'],
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
