import type { IncomingHttpHeaders } from 'node:http'
import { toWarpdexError } from '../../protocol/errors.js'
import type { Log } from '../observe/log.js'
import { type Answer, json } from './answer.js'

/** What the page loads lies below it. */
export const PAGE_PATH = '/page/'

/** What is looked at of a request. */
export interface SiteRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** What a path is answered with. */
export interface Route {
  /** Whether who asks must be allowed to read. */
  readonly guarded: boolean
  answer(request: SiteRequest): Answer | Promise<Answer>
}

export interface SiteOptions {
  readonly routes: ReadonlyMap<string, Route>
  /** Whether who asks may read what is not for everybody. */
  readonly mayRead: (request: SiteRequest) => boolean
  /** Whether who asks calls the server by a name that is its own. */
  readonly isOwnName: (request: SiteRequest) => boolean
  readonly log: Log
}

const METHODS = 'GET, HEAD'

/** All that the server answers over HTTP. */
export class Site {
  readonly #options: SiteOptions

  constructor(options: SiteOptions) {
    this.#options = options
  }

  /** Answers a request; never fails. */
  async answer(request: SiteRequest): Promise<Answer> {
    try {
      return await this.#find(request)
    } catch (thrown) {
      const { code, message, stack } = toWarpdexError(thrown)
      this.#options.log.error({ stack }, `an HTTP request failed: ${message}`)
      return json(500, { error: code })
    }
  }

  #find(request: SiteRequest): Answer | Promise<Answer> {
    const { routes, mayRead, isOwnName } = this.#options
    const path = pathOf(request)
    const route = routes.get(path)
    if (route === undefined) {
      const paths = [...routes.keys()].filter((known) => !known.startsWith(PAGE_PATH))
      return json(404, { error: `there is nothing here; there are ${paths.join(', ')}, and WebSocket` })
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return json(405, { error: `${path} takes ${METHODS}` }, { allow: METHODS })
    }
    if (route.guarded && !isOwnName(request)) {
      const error = 'the header Host must name this machine: localhost, or an address of the loopback'
      return json(403, { error })
    }
    if (route.guarded && !mayRead(request)) {
      const error = 'the server wants its token: Authorization: Bearer <token>'
      return json(401, { error }, { 'www-authenticate': 'Bearer realm="warpdex"' })
    }
    return route.answer(request)
  }
}

/** The path alone: a query, which might hold secrets, is never looked at. */
function pathOf({ url }: SiteRequest): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}
