import type { ReplyFields } from '../../../protocol/replies.js'
import type { EngineStats } from '../../engine/engine-stats.js'
import type { Rights } from './rights.js'

/** The figures that somebody may see: sums over all indexes only with a right to all, since they tell of the others. */
export function visibleStats(
  { server, indexes, relations }: EngineStats,
  rights: Rights,
): ReplyFields['stats'] {
  if (rights.mayEverywhere('stats')) return { server, indexes, relations }
  const { version, uptimeSeconds, adapter } = server
  return {
    server: { version, uptimeSeconds, adapter },
    indexes: indexes.filter(({ name }) => rights.may('stats', name)),
    relations: relations.filter(({ name }) => rights.may('stats', name)),
  }
}
