import { WarpdexError } from '../../../protocol/errors.js'
import type { RelationDefinition } from '../../../protocol/relation.js'
import type { Spread } from '../../../protocol/spread.js'

/**
 * Refuses a request that takes a relation for one that is spread over replica sets in another way: it would read or change a part of the rows only.
 * @throws WarpdexError `INDEX_CHANGED`
 */
export function requireSpread({ name, spread }: RelationDefinition, taken: Spread | undefined): void {
  if (spread === taken) return
  const how = spread === undefined ? 'is on one replica set' : `is spread over the replica sets by ${spread}`
  throw new WarpdexError(
    'INDEX_CHANGED',
    `relation ${JSON.stringify(name)} ${how}, which a request that is for one replica set does not know; connect to the whole cluster`,
  )
}
