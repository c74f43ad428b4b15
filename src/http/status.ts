import type { RelationInfo } from '../../protocol/relation.js'
import type { IndexStats } from '../../protocol/replies.js'
import type { ServerStats } from '../engine/engine-stats.js'
import type { RelationFacts } from '../engine/named-relation.js'
import type { PagedStats, PlaceStats } from '../engine/paged-structure.js'
import type { SlabMap } from '../engine/slab-map.js'
import type { HistoryField } from '../observe/history.js'
import type { LogHistogram } from '../observe/log-histogram.js'
import { type Meters, STAGES, type Stage } from '../observe/meters.js'
import type { Notice } from '../observe/monitor.js'
import { json, type Route } from './answer.js'
import { largestRelations } from './engine-metrics.js'
import type { MetricsSource } from './metrics.js'

/** Indexes, and relations, that the status page lists: the largest. */
export const LISTED = 100

/** How long a status is good for, so that many pages cost no more than one. */
const FRESH_MS = 500

/** How the server is at the moment. */
export interface Availability {
  readonly status: 'starting' | 'ready' | 'stopping'
  /** Why requests would not be answered; undefined when they are. */
  readonly reason: string | undefined
}

/** Number of something, and how long it took in microseconds. */
interface Times {
  readonly count: number
  readonly p50: number
  readonly p99: number
}

/** What it shows of a relation. */
export type RelationStatus = RelationInfo &
  PlaceStats &
  Pick<RelationFacts, 'rows' | 'deviceBytes' | 'stringBytes' | 'appends' | 'logPosition' | 'snapshotPosition'>

/** What the status page shows. Times are in microseconds. */
export interface ServerStatus extends Availability {
  readonly now: number
  /** Undefined until the engine is open. */
  readonly server: ServerStats | undefined
  readonly traffic: Readonly<Record<'requestsInFlight' | 'bytesInFlight', number>> &
    Pick<Meters, 'connections' | 'smallReads' | 'sharedDispatches' | 'loggedWrites' | 'logRecords'>
  readonly ops: readonly (Times & { readonly op: string; readonly failures: number; readonly keys: number })[]
  readonly stages: readonly (Times & { readonly stage: Stage })[]
  readonly events: Readonly<Record<string, number>>
  /** A column a figure, with a row a second, the oldest first. */
  readonly history: Readonly<Record<HistoryField, readonly number[]>>
  readonly indexes: readonly (IndexStats & PagedStats)[]
  /** What lies where in device memory; pages of what is not listed are told apart from free ones only. */
  readonly slabs: readonly SlabMap[]
  /** Indexes that are not listed. */
  readonly unlisted: number
  /** Kept results of queries are among them. */
  readonly relations: readonly RelationStatus[]
  readonly unlistedRelations: number
  readonly notices: readonly Notice[]
  /** Threshold of the slow log in milliseconds, 0 without one, and number of the last request in it. */
  readonly slow: { readonly threshold: number; readonly last: number }
}

export interface StatusSource extends MetricsSource {
  readonly availability: () => Availability
}

/** `/status.json`. */
export function statusRoute(source: StatusSource): Route {
  let latest: { readonly at: number; readonly status: ServerStatus } | undefined
  return () => {
    const at = performance.now()
    if (latest === undefined || at - latest.at > FRESH_MS) latest = { at, status: serverStatus(source) }
    return json(200, latest.status)
  }
}

function serverStatus({ monitor, availability, engine }: StatusSource): ServerStatus {
  const { meters, history, notices, slowLog } = monitor
  const { server, indexes: all = [], relations: allRelations = [] } = engine()?.stats() ?? {}
  const indexes = engine()?.largest(LISTED) ?? []
  const relations = largestRelations(allRelations, LISTED)
  const { connections, smallReads, sharedDispatches, loggedWrites, logRecords } = meters
  const { requests: requestsInFlight, bytes: bytesInFlight } = meters.underWay()
  const ops = Object.values(meters.ops).filter(({ latency }) => latency.count > 0)
  return {
    now: Date.now(),
    ...availability(),
    server,
    traffic: {
      connections,
      requestsInFlight,
      bytesInFlight,
      smallReads,
      sharedDispatches,
      loggedWrites,
      logRecords,
    },
    ops: ops.map(({ op, outcomes, latency, items }) => ({
      op,
      ...timesOf(latency),
      failures: latency.count - outcomes.OK,
      keys: items.sum,
    })),
    stages: STAGES.map((stage) => ({ stage, ...timesOf(meters.stages[stage]) })),
    events: meters.events,
    history: history.columns,
    indexes,
    slabs: engine()?.slabMaps(indexes.map(nameOf), relations.map(nameOf)) ?? [],
    unlisted: all.length - indexes.length,
    relations: relations.map(({ regions: _regions, ...facts }) => facts),
    unlistedRelations: allRelations.length - relations.length,
    notices,
    slow: { threshold: slowLog.told, last: slowLog.last },
  }
}

function nameOf({ name }: { readonly name: string }): string {
  return name
}

function timesOf(histogram: LogHistogram): Times {
  const { count } = histogram
  return { count, p50: histogram.quantile(0.5), p99: histogram.quantile(0.99) }
}
