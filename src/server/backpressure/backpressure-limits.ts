import { LIMITS } from '../../../protocol/limits.js'
import type { Config } from '../../config/settings.js'

/** What bounds the memory that clients take, and the time that they are waited for: `LIMITS`, some of which are settings. */
export type BackpressureLimits = Readonly<Record<keyof typeof LIMITS, number>>

export function backpressureLimits(config: Config): BackpressureLimits {
  return {
    ...LIMITS,
    requestsInFlight: config.maxRequestsInFlight,
    requestsInAll: config.maxRequestsInAll,
    bytesInFlight: config.maxBytesInFlight,
    bytesInAll: config.maxBytesInAll,
    replyBytesQueued: config.maxReplyBytes,
    replyBytesInAll: config.maxReplyBytesInAll,
    pingSeconds: config.pingSeconds,
    stallSeconds: config.stallSeconds,
  }
}
