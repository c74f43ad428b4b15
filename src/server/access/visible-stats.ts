import type { RelationInfo } from '../../../protocol/relation.js'
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
    relations: visibleRelations(relations, rights),
  }
}

/** The relations that somebody may see, each with those of the indexes over its columns that they may see too. */
export function visibleRelations<T extends Pick<RelationInfo, 'name' | 'indexes'>>(
  relations: readonly T[],
  rights: Rights,
): readonly T[] {
  const seen = relations.filter(({ name }) => rights.may('stats', name))
  return seen.map((relation) => ({
    ...relation,
    indexes: relation.indexes.filter(({ name }) => rights.may('stats', name)),
  }))
}
