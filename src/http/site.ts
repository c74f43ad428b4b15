import { toWarpdexError } from '../../protocol/errors.js'
import type { ClientFacts } from '../observe/client-facts.js'
import { type Answer, json, type Route, type SiteRequest } from './answer.js'
import { metricsAnswer } from './metrics.js'
import { isOfPage, pageRoutes } from './static-files.js'
import { type Availability, LISTED, type StatusSource, statusRoute } from './status.js'

export interface SiteSource extends StatusSource {
  /** The status page's files; by default where the build puts them. */
  readonly pageFolder?: string | undefined
  /** All connections that are open. */
  readonly clients: () => Promise<readonly ClientFacts[]>
  /** Whether who asks may read what is not for everybody. */
  readonly mayRead: (request: SiteRequest) => boolean
  /** Whether who asks calls the server by a name that is its own. */
  readonly isOwnName: (request: SiteRequest) => boolean
}

/** Answers a request; never fails. */
export type Site = (request: SiteRequest) => Promise<Answer>

const METHODS = 'GET, HEAD'

/** Not for everybody. */
const GUARDED: ReadonlySet<string> = new Set([
  '/metrics',
  '/status.json',
  '/slow.json',
  '/clients.json',
  '/hour.json',
])

/** All that one server answers over HTTP. */
export function openSite(source: SiteSource): Site {
  const { availability, monitor } = source
  const routes = new Map<string, Route>([
    ...pageRoutes(source.pageFolder),
    // Whether the process lives, which is so whenever it answers.
    ['/health', () => json(200, { status: availability().status })],
    ['/ready', () => readiness(availability())],
    ['/metrics', () => metricsAnswer(source)],
    ['/status.json', statusRoute(source)],
    ['/slow.json', () => json(200, { requests: monitor.slowLog.after(0) })],
    ['/clients.json', async () => json(200, clientList(await source.clients()))],
    ['/hour.json', () => json(200, monitor.history.hour)],
  ])
  return async (request) => {
    try {
      return await (refusal(request, routes, source) ?? routes.get(pathOf(request))!(request))
    } catch (thrown) {
      const { code, message, stack } = toWarpdexError(thrown)
      monitor.log.error({ stack }, `an HTTP request failed: ${message}`)
      return json(500, { error: code })
    }
  }
}

/** Why a request is not answered by the route of its path; undefined where it is. */
function refusal(
  request: SiteRequest,
  routes: ReadonlyMap<string, Route>,
  { mayRead, isOwnName }: SiteSource,
): Answer | undefined {
  const path = pathOf(request)
  if (!routes.has(path)) {
    const paths = [...routes.keys()].filter((known) => !isOfPage(known))
    return json(404, { error: `there is nothing here; there are ${paths.join(', ')}, and WebSocket` })
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return json(405, { error: `${path} takes ${METHODS}` }, { allow: METHODS })
  }
  if (!GUARDED.has(path)) return undefined
  if (!isOwnName(request)) {
    const error = 'the header Host must name this machine: localhost, or an address of the loopback'
    return json(403, { error })
  }
  if (mayRead(request)) return undefined
  const error = 'the server wants its token: Authorization: Bearer <token>'
  return json(401, { error }, { 'www-authenticate': 'Bearer realm="warpdex"' })
}

/** What the page lists of clients: those that asked most, with how many others there are. */
export interface ClientList {
  readonly clients: readonly ClientFacts[]
  readonly unlisted: number
}

function clientList(all: readonly ClientFacts[]): ClientList {
  const clients = [...all].sort((one, other) => other.requests - one.requests).slice(0, LISTED)
  return { clients, unlisted: all.length - clients.length }
}

/** Whether requests are answered. */
function readiness({ status, reason }: Availability): Answer {
  return reason === undefined
    ? json(200, { ready: true, status })
    : json(503, { ready: false, status, reason }, { 'retry-after': '1' })
}

/** The path alone: a query, which might hold secrets, is never looked at. */
function pathOf({ url }: SiteRequest): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}
