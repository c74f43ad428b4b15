import type { Registry } from 'prom-client'
import type { RelationFacts } from '../engine/named-relation.js'
import { METERED_MEMBERS, type MemberFigure, memberGauges, numberOf } from './member-gauges.js'
import { gauge } from './metrics.js'

/** What metrics say of a relation. */
const FIGURES: readonly MemberFigure<RelationFacts>[] = [
  ['rows', 'Rows of a relation.', ({ rows }) => rows],
  ['appends', 'Appends to a relation since it was loaded.', ({ appends }) => numberOf(appends)],
  [
    'resident',
    '1 for a relation on the device, 0 for one that is paged out.',
    ({ resident }) => Number(resident),
  ],
  ['device_bytes', 'Device memory of a relation.', ({ deviceBytes }) => deviceBytes],
  ['host_bytes', 'Host memory of a relation that is paged out.', ({ hostBytes }) => hostBytes],
  ['string_bytes', 'Different strings of a relation, in host memory.', ({ stringBytes }) => stringBytes],
  ['log_records', 'Log records of a relation on disk.', ({ logRecords }) => numberOf(logRecords)],
  ['log_position', 'Position of the newest log record.', ({ logPosition }) => numberOf(logPosition)],
  [
    'snapshot_position',
    'Log position of the newest snapshot.',
    ({ snapshotPosition }) => numberOf(snapshotPosition),
  ],
]

/** Those that take the most memory, on device and host, the largest first. */
export function largestRelations(relations: readonly RelationFacts[], count: number): RelationFacts[] {
  const bytes = ({ deviceBytes, hostBytes, stringBytes }: RelationFacts) =>
    deviceBytes + hostBytes + stringBytes
  return [...relations].sort((one, other) => bytes(other) - bytes(one)).slice(0, count)
}

/**
 * Enters figures of relations. Kept results of queries come and go under ever new names, so that only their sums are entered.
 * @param relations asked for figures as of the last time that metrics were
 */
export function relationMetrics(registry: Registry, relations: () => readonly RelationFacts[]): void {
  const stored = () => relations().filter(({ kept }) => kept === undefined)
  const kept = () => relations().filter(({ kept }) => kept !== undefined)
  const sum = (figure: (facts: RelationFacts) => number) => () =>
    kept().reduce((total, facts) => total + figure(facts), 0)
  gauge(
    registry,
    'warpdex_relations',
    'Relations that can be used, without kept results.',
    () => stored().length,
  )
  memberGauges(registry, 'relation', FIGURES, () => {
    const all = stored()
    return { all, largest: largestRelations(all, METERED_MEMBERS) }
  })
  gauge(registry, 'warpdex_kept_results', 'Kept results of queries.', () => kept().length)
  gauge(
    registry,
    'warpdex_kept_result_rows',
    'Rows of all kept results.',
    sum(({ rows }) => rows),
  )
  gauge(
    registry,
    'warpdex_kept_result_device_bytes',
    'Device memory of all kept results.',
    sum(({ deviceBytes }) => deviceBytes),
  )
  gauge(
    registry,
    'warpdex_kept_result_host_bytes',
    'Host memory of all kept results that are paged out.',
    sum(({ hostBytes }) => hostBytes),
  )
}
