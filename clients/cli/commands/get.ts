import { badRequest } from '../../../protocol/errors.js'
import { parseTraversal, type TraversalOptions } from '../../../protocol/traversal-options.js'
import type { IndexDefinition } from '../../../protocol/types.js'
import type { Index } from '../../sdk/index.js'
import { argumentList, flag, indexCommand } from '../command.js'
import { ExitCode } from '../exit-code.js'
import { type AnyKey, keyAsJson, parseKey, SHOWN_AS_HEX, showKey } from '../keys.js'
import { asJson, printLines } from '../output.js'
import { type AnyPayload, payloadAsJson, showPayload } from '../payloads.js'
import { TRAVERSAL_OPTIONS } from '../traversal-options.js'

/** What a key was found to have. */
interface Found {
  readonly payloads: readonly AnyPayload[]
  /** Sequence number of the first one, where it was asked for. */
  readonly sequence?: number | undefined
}

export const add = indexCommand({
  usage: 'get <index> <keys..>',
  about: 'Print the first payload of each key',
  positionals: { keys: argumentList('Keys to look up') },
  options: {
    ...TRAVERSAL_OPTIONS,
    all: flag('All payloads of each key, not only the first'),
    sequences: flag('With the sequence number of each payload, from which next continues'),
    json: flag('One JSON object per key'),
    hex: flag(SHOWN_AS_HEX),
  },
  examples: [
    ['$0 get cities 2988507 2643743', 'one line per key: the key, a tab, its payload'],
    ['$0 get population 1000000 --all --json', 'all payloads of a key'],
    [`$0 get sales '[7,"de"]' '[7,"fr"]'`, 'keys that are tuples'],
    ['$0 get pages example.org/a --strategy directed', 'uses that strategy'],
    ['$0 get temperatures -- -1e5', 'nothing after -- is an option'],
  ],
  epilogue: 'Exit code 1 if a key was not found.',
  check: parseTraversal,
  async run(index, definition, options) {
    const keys = options.keys.map((text) => parseKey(text, definition, options.hex))
    const found = await lookUp(index, keys, options)
    const show = options.json ? jsonLine : textLine
    await printLines(keys.map((key, i) => show(key, found[i], definition, options)))
    if (found.some(({ payloads }) => payloads.length === 0)) process.exitCode = ExitCode.miss
  },
})

/** What each key has: no payloads where it was not found. */
async function lookUp(
  index: Index,
  keys: readonly AnyKey[],
  {
    all,
    sequences,
    strategy,
    resolution,
  }: TraversalOptions & { readonly all: boolean; readonly sequences: boolean },
): Promise<Found[]> {
  if (all && (sequences || strategy !== undefined)) {
    throw badRequest(`--all takes no ${sequences ? '--sequences' : '--strategy'}; leave one of them out`)
  }
  if (all) {
    const result = await index.getAllMany(keys)
    return keys.map((_, i) => ({ payloads: result.of(i) }))
  }
  const result = await index.getMany(keys, { strategy, resolution, sequences })
  return keys.map((_, i) =>
    result.has(i) ? { payloads: [result.payloads.at(i)], sequence: result.sequences?.[i] } : { payloads: [] },
  )
}

interface Form {
  readonly all: boolean
  readonly hex: boolean
}

function textLine(key: AnyKey, found: Found, definition: IndexDefinition, { hex }: Form): string {
  const { payloads, sequence } = found
  const shown =
    payloads.length === 0 ? ['(not found)'] : payloads.map((payload) => showPayload(payload, definition, hex))
  return [
    showKey(key, definition.keyType, hex),
    ...shown,
    ...(sequence === undefined ? [] : [sequence]),
  ].join('\t')
}

function jsonLine(key: AnyKey, found: Found, { keyType }: IndexDefinition, { all, hex }: Form): string {
  const { payloads, sequence } = found
  const shown = payloads.map((payload) => payloadAsJson(payload, hex))
  const answer = all ? { payloads: shown } : { payload: shown[0] ?? null, sequence }
  return asJson({ key: keyAsJson(key, keyType, hex), ...answer })
}
