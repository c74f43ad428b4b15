import { Registry } from 'prom-client'
import type { Engine } from '../engine/engine.js'
import type { Monitor } from '../observe/monitor.js'
import { type Availability, healthRoute, readyRoute } from './health.js'
import { engineMetrics } from './index-metrics.js'
import { historyMetrics, requestMetrics, trafficMetrics } from './metrics.js'
import { processMetrics } from './process-metrics.js'
import { type Route, Site, type SiteRequest } from './site.js'
import { pageRoutes } from './static-files.js'
import { statusRoute } from './status.js'

export interface SiteSource {
  readonly monitor: Monitor
  readonly availability: () => Availability
  /** Undefined until it is open. */
  readonly engine: () => Engine | undefined
  /** The status page's files; by default where the build puts them. */
  readonly pageFolder?: string | undefined
  /** Whether who asks may read figures: metrics and status. */
  readonly mayRead: (request: SiteRequest) => boolean
  /** Whether who asks calls the server by a name that is its own. */
  readonly isOwnName: (request: SiteRequest) => boolean
}

/** The site of one server. */
export function openSite(source: SiteSource): Site {
  const { availability, mayRead, isOwnName, monitor } = source
  const routes = new Map<string, Route>([
    ...pageRoutes(source.pageFolder),
    ['/health', healthRoute(availability)],
    ['/ready', readyRoute(availability)],
    ['/metrics', metricsRoute(source)],
    ['/status.json', statusRoute(source)],
  ])
  return new Site({ routes, mayRead, isOwnName, log: monitor.log })
}

function metricsRoute({ monitor, engine }: SiteSource): Route {
  const { meters, history } = monitor
  const registry = new Registry()
  requestMetrics(registry, meters)
  trafficMetrics(registry, meters)
  historyMetrics(registry, history)
  engineMetrics(registry, engine)
  processMetrics(registry)
  return {
    guarded: true,
    answer: async () => ({ status: 200, type: registry.contentType, body: await registry.metrics() }),
  }
}
