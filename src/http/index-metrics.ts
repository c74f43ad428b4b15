import { Gauge, type Registry } from 'prom-client'
import type { IndexStats } from '../../protocol/replies.js'
import type { Engine } from '../engine/engine.js'
import type { EngineStats, ServerStats } from '../engine/engine-stats.js'
import type { PagedStats } from '../engine/paged-index.js'
import { METERED_MEMBERS, type MemberFigure, memberGauges, numberOf } from './member-gauges.js'
import { counter, gauge } from './metrics.js'
import { relationMetrics } from './relation-metrics.js'

/** What metrics say of an index, beside its memory. */
const FIGURES: readonly MemberFigure<IndexStats>[] = [
  ['keys', 'Keys of an index.', ({ keys }) => keys],
  ['payloads', 'Payloads of an index.', ({ payloads }) => payloads],
  ['shards', 'Pieces by ranges of keys that an index is held in.', ({ shards }) => numberOf(shards)],
  [
    'resident',
    '1 for an index on the device, 0 for one that is paged out.',
    ({ resident }) => Number(resident),
  ],
  ['device_bytes', 'Device memory of an index.', ({ deviceBytes }) => deviceBytes],
  [
    'garbage_bytes',
    'Device memory that a compaction would give back.',
    ({ garbageBytes }) => numberOf(garbageBytes),
  ],
  ['host_bytes', 'Host memory of an index that is paged out.', ({ hostBytes }) => numberOf(hostBytes)],
  ['log_records', 'Log records of an index on disk.', ({ logRecords }) => numberOf(logRecords)],
  ['log_position', 'Position of the newest log record.', ({ logPosition }) => numberOf(logPosition)],
  [
    'snapshot_position',
    'Log position of the newest snapshot.',
    ({ snapshotPosition }) => numberOf(snapshotPosition),
  ],
]

/** Enters what the engine knows of itself, of its indexes and of its relations. */
export function engineMetrics(registry: Registry, engine: () => Engine | undefined): void {
  let stats: EngineStats | undefined
  let largest: readonly (IndexStats & PagedStats)[] = []
  const server = (name: string, help: string, figure: (stats: ServerStats) => number) =>
    gauge(registry, `warpdex_${name}`, help, () => (stats === undefined ? 0 : figure(stats.server)))
  registry.registerMetric(
    new Gauge({
      name: 'warpdex_indexes',
      help: 'Indexes that can be used.',
      registers: [],
      // Metrics are asked in the order of their registration: this one brings the figures for those behind it.
      collect() {
        stats = engine()?.stats()
        largest = engine()?.largest(METERED_MEMBERS) ?? []
        this.set(stats?.indexes.length ?? 0)
      },
    }),
  )
  server('uptime_seconds', 'Time since the engine was opened.', ({ uptimeSeconds }) => uptimeSeconds)
  server(
    'device_limit_bytes',
    'Device memory that indexes and relations may own; 0 without a limit.',
    ({ deviceLimitBytes }) => deviceLimitBytes ?? 0,
  )
  server('paged_out_indexes', 'Indexes that are paged out.', ({ pagedOutIndexes }) => pagedOutIndexes)
  server(
    'paged_out_relations',
    'Relations that are paged out, and kept results.',
    ({ pagedOutRelations }) => pagedOutRelations,
  )
  server('queries_running', 'Queries whose result is not yet made.', ({ queries }) => queries.running)
  server('queries_waiting', 'Queries that wait for memory of others.', ({ queries }) => queries.waiting)
  server('query_bytes', 'Memory of queries beside their relations.', ({ queries }) => queries.bytes)
  counter(
    registry,
    'warpdex_query_slices_total',
    'Slices of queries that went to the device.',
    () => stats?.server.queries.slices ?? 0,
  )
  server('store_bytes', 'Data file and snapshots on disk.', ({ storeBytes }) => storeBytes)
  server(
    'payload_cache_bytes',
    'Payloads of kind bytes in memory.',
    ({ cachedPayloadBytes }) => cachedPayloadBytes,
  )
  memberGauges(registry, 'index', FIGURES, () => ({ largest, all: stats?.indexes ?? [] }))
  registry.registerMetric(
    new Gauge({
      name: 'warpdex_index_region_bytes',
      help: `Device memory of the ${METERED_MEMBERS} largest indexes by region and by what is in it: live, garbage or free.`,
      labelNames: ['index', 'region', 'content'],
      registers: [],
      collect() {
        this.reset()
        for (const { name: index, regions } of largest) {
          for (const { role: region, bytes, usedBytes, garbageBytes } of regions) {
            this.set({ index, region, content: 'live' }, usedBytes - garbageBytes)
            this.set({ index, region, content: 'garbage' }, garbageBytes)
            this.set({ index, region, content: 'free' }, bytes - usedBytes)
          }
        }
      },
    }),
  )
  relationMetrics(registry, () => stats?.relations ?? [])
}
