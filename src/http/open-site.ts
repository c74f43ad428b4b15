import { type Availability, healthRoute, readyRoute } from './health.js'
import { type MetricsSource, metricsRoute } from './metrics.js'
import { type Route, Site, type SiteOptions } from './site.js'
import { pageRoutes } from './static-files.js'
import { statusRoute } from './status.js'

export interface SiteSource extends MetricsSource, Pick<SiteOptions, 'mayRead' | 'isOwnName'> {
  readonly availability: () => Availability
  /** The status page's files; by default where the build puts them. */
  readonly pageFolder?: string | undefined
}

/** The site of one server. Who may read its figures, by `mayRead`, is asked for metrics and status. */
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
