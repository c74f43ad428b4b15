import { json } from './answer.js'
import type { Route } from './site.js'

export type Status = 'starting' | 'ready' | 'stopping'

/** How the server is at the moment. */
export interface Availability {
  readonly status: Status
  /** Why requests would not be answered; undefined when they are. */
  readonly reason: string | undefined
}

/** `/health`: whether the process lives, which is so whenever it answers. */
export function healthRoute(availability: () => Availability): Route {
  return { guarded: false, answer: () => json(200, { status: availability().status }) }
}

/** `/ready`: whether requests are answered. */
export function readyRoute(availability: () => Availability): Route {
  return {
    guarded: false,
    answer: () => {
      const { status, reason } = availability()
      return reason === undefined
        ? json(200, { ready: true, status })
        : json(503, { ready: false, status, reason }, { 'retry-after': '1' })
    },
  }
}
