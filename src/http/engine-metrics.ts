import type { ReplicaFigures } from '../../protocol/replica.js'
import type { Engine } from '../engine/engine.js'
import type { RelationFacts } from '../engine/named-relation.js'
import { counters, gauges, type Metric, type Sample } from './exposition.js'
import { METERED_MEMBERS, memberGauges } from './member-gauges.js'

/** What the engine knows of itself, of its indexes and of its relations; nothing of those while it is not open. */
export function engineMetrics(engine: Engine | undefined): Metric[] {
  const { server, indexes = [], relations = [] } = engine?.stats() ?? {}
  const largest = engine?.largest(METERED_MEMBERS) ?? []
  const { queries, versions, feeds } = server ?? {}
  const regions = largest.flatMap(({ name: index, regions }) =>
    regions.flatMap(({ role: region, bytes, usedBytes, garbageBytes }): Sample[] => [
      [usedBytes - garbageBytes, { index, region, content: 'live' }],
      [garbageBytes, { index, region, content: 'garbage' }],
      [bytes - usedBytes, { index, region, content: 'free' }],
    ]),
  )
  const slabs = (server?.slabs ?? []).flatMap(({ sort, bytes, freeBytes }): Sample[] => [
    [bytes - freeBytes, { sort, content: 'taken' }],
    [freeBytes, { sort, content: 'free' }],
  ])
  const content = 'by region and by what is in it: live, garbage or free.'
  const next = indexes.flatMap(({ nextExpiry }) => (typeof nextExpiry === 'number' ? [nextExpiry] : []))
  const limit = 'Device memory that indexes and relations may own; 0 without a limit.'
  return [
    ...gauges({
      indexes: ['Indexes that can be used.', indexes.length],
      uptime_seconds: ['Time since the engine was opened.', server?.uptimeSeconds ?? 0],
      device_limit_bytes: [limit, server?.deviceLimitBytes ?? 0],
      paged_out_indexes: ['Indexes that are paged out.', server?.pagedOutIndexes ?? 0],
      paged_out_relations: [
        'Relations that are paged out, and kept results.',
        server?.pagedOutRelations ?? 0,
      ],
      queries_running: ['Queries whose result is not yet made.', queries?.running ?? 0],
      queries_waiting: ['Queries that wait for memory of others.', queries?.waiting ?? 0],
      query_bytes: ['Memory of queries beside their relations.', queries?.bytes ?? 0],
      versions: ['Read versions that are open.', versions?.open ?? 0],
      version_copies: ['Copies of indexes for read versions.', versions?.copies ?? 0],
      version_copy_bytes: ['Memory of these copies, on the device or on the host.', versions?.bytes ?? 0],
      feeds_waiting: ['Requests that wait for changes of an index.', feeds?.waiting ?? 0],
      feed_log_bytes: ['Log that is kept for feeds of changes only.', feeds?.logBytes ?? 0],
      host_copy_bytes: [
        'Host memory of what is on the device and came from there, so that only changed pages leave.',
        server?.hostCopyBytes ?? 0,
      ],
      next_expiry_timestamp_seconds: [
        'When the next entry of all indexes expires, at the earliest; 0 where none does.',
        next.length === 0 ? 0 : Math.min(...next) / 1000,
      ],
      slab_bytes: ['Slabs of device memory by what they hold, and whether somebody has their pages.', slabs],
      ...replicaGauges(server?.replica),
      store_bytes: ['Data file and snapshots on disk.', server?.storeBytes ?? 0],
      payload_cache_bytes: ['Payloads of kind bytes in memory.', server?.cachedPayloadBytes ?? 0],
      index_region_bytes: [`Device memory of the ${METERED_MEMBERS} largest indexes ${content}`, regions],
    }),
    ...counters({
      query_slices: ['Slices of queries that went to the device.', queries?.slices ?? 0],
      page_out_bytes: ['Pages that were read from the device to page out.', server?.pageOutBytes ?? 0],
    }),
    ...memberGauges('index', largest, indexes),
    ...relationMetrics(relations),
  ]
}

/** Only of a node of a replica set. */
function replicaGauges(replica: ReplicaFigures | undefined) {
  if (replica === undefined) return {}
  return {
    replica_owner: ['1 of the node that takes writes for its replica set.', Number(replica.role === 'owner')],
    replica_position: ['Position in the log of the replica set up to which all is made.', replica.position],
  } as const
}

/** Kept results of queries come and go under ever new names, so that only their sums are told. */
function relationMetrics(relations: readonly RelationFacts[]): Metric[] {
  const stored = relations.filter(({ kept }) => kept === undefined)
  const kept = relations.filter(({ kept }) => kept !== undefined)
  const sum = (figure: 'rows' | 'deviceBytes' | 'hostBytes') =>
    kept.reduce((total, facts) => total + facts[figure], 0)
  return [
    ...memberGauges('relation', largestRelations(stored, METERED_MEMBERS), stored),
    ...gauges({
      relations: ['Relations that can be used, without kept results.', stored.length],
      kept_results: ['Kept results of queries.', kept.length],
      kept_result_rows: ['Rows of all kept results.', sum('rows')],
      kept_result_device_bytes: ['Device memory of all kept results.', sum('deviceBytes')],
      kept_result_host_bytes: ['Host memory of all kept results that are paged out.', sum('hostBytes')],
    }),
  ]
}

/** Those that take the most memory, on device and host, the largest first. */
export function largestRelations(relations: readonly RelationFacts[], count: number): RelationFacts[] {
  const bytes = ({ deviceBytes, hostBytes, stringBytes }: RelationFacts) =>
    deviceBytes + hostBytes + stringBytes
  return [...relations].sort((one, other) => bytes(other) - bytes(one)).slice(0, count)
}
