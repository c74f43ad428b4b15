import { LIMITS } from '../../../protocol/limits.js'
import type { Config } from '../../config/settings.js'

/** What bounds the memory that clients take, and the time that they are waited for. All of them are in `LIMITS`. */
export type BackpressureLimits = Readonly<
  Record<
    | 'requestsInFlight'
    | 'requestsInAll'
    | 'bytesInFlight'
    | 'bytesInAll'
    | 'bytesReserved'
    | 'requestsPastBound'
    | 'replyBytesQueued'
    | 'replyBytesInAll'
    | 'pingSeconds'
    | 'stallSeconds'
    | 'slowestBytesPerSecond'
    | 'pingsPending',
    number
  >
>

export function backpressureLimits(config: Config): BackpressureLimits {
  return {
    requestsInFlight: config.maxRequestsInFlight,
    requestsInAll: config.maxRequestsInAll,
    bytesInFlight: config.maxBytesInFlight,
    bytesInAll: config.maxBytesInAll,
    bytesReserved: LIMITS.bytesReserved,
    requestsPastBound: LIMITS.requestsPastBound,
    replyBytesQueued: config.maxReplyBytes,
    replyBytesInAll: config.maxReplyBytesInAll,
    pingSeconds: config.pingSeconds,
    stallSeconds: config.stallSeconds,
    slowestBytesPerSecond: LIMITS.slowestBytesPerSecond,
    pingsPending: LIMITS.pingsPending,
  }
}
