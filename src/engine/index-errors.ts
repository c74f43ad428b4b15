import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { layoutWords } from '../../protocol/traversal-options.js'
import type { IndexDefinition } from '../../protocol/types.js'

export function unknownIndex(name: string): WarpdexError {
  return new WarpdexError('UNKNOWN_INDEX', `there is no index ${JSON.stringify(name)}; create it first`)
}

export function indexExists(definition: IndexDefinition): WarpdexError {
  const { name, keyType, payloadKind, unique } = definition
  const more = [unique ? 'unique' : 'not unique', ...layoutWords(definition)].join(', ')
  return new WarpdexError(
    'INDEX_EXISTS',
    `there is an index ${JSON.stringify(name)} already, of ${keyType} keys and ${payloadKind} payloads, ${more}; drop it first or choose another name`,
  )
}

export function rebuilding(name: string): WarpdexError {
  const message = `index ${JSON.stringify(name)} is being rebuilt after the loss of its device; try again`
  return new WarpdexError('DEVICE_LOST', message)
}

/** An error of the start, with advice where the index is too large. */
export function notLoaded({ name }: IndexDefinition, thrown: unknown): unknown {
  const { code, message } = toWarpdexError(thrown)
  if (code !== 'OUT_OF_DEVICE_MEMORY') return thrown
  return new WarpdexError(
    code,
    `index ${JSON.stringify(name)} does not fit: ${message}; allow it more (--device-memory), or take a larger device`,
    { cause: thrown },
  )
}
