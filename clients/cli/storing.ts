import { type IndexDefinition, ResultCode } from '../../protocol/types.js'
import { argument, flag } from './command.js'
import { ExitCode } from './exit-code.js'
import { type AnyKey, KEY_FORMS, parseKey } from './keys.js'
import { printOutcome } from './output.js'
import { type AnyPayload, parsePayload } from './payloads.js'

/** What commands take that store one payload. */
export const STORED = {
  key: argument(KEY_FORMS),
  payload: argument('A number for u32 and u64, JSON for json; else a text (UTF-8), or hex digits with --hex'),
}

export const STORED_AS_HEX = flag('Read the payload, and a string or bytes key, as hex digits')

const OUTCOMES: Readonly<Record<number, readonly [outcome: string, line: string]>> = {
  [ResultCode.inserted]: ['inserted', 'inserted'],
  [ResultCode.replaced]: ['replaced', 'replaced'],
  [ResultCode.exists]: ['exists', 'not inserted: the key is there already'],
}

/** Stores what was given, and prints what came of it. */
export async function store(
  given: { readonly key: string; readonly payload: string; readonly hex: boolean; readonly json: boolean },
  definition: IndexDefinition,
  write: (keys: AnyKey[], payloads: AnyPayload[]) => Promise<Uint8Array>,
): Promise<void> {
  const key = parseKey(given.key, definition, given.hex)
  const payload = parsePayload(given.payload, definition, given.hex)
  const [code] = await write([key], [payload])
  const [outcome, line] = OUTCOMES[code] ?? [`code ${code}`, `unknown outcome ${code}`]
  await printOutcome(given.json, line, { outcome })
  if (code === ResultCode.exists) process.exitCode = ExitCode.miss
}
