import type { BackpressureLimits } from '../../../../src/server/backpressure/backpressure-limits.js'

/** Small numbers, so that each bound is near. */
export const SMALL: BackpressureLimits = {
  requestsInFlight: 4,
  requestsInAll: 6,
  bytesInFlight: 1000,
  bytesInAll: 2000,
  bytesReserved: 100,
  requestsPastBound: 1,
  replyBytesQueued: 1000,
  replyBytesInAll: 2500,
  pingSeconds: 30,
  stallSeconds: 30,
  slowestBytesPerSecond: 10,
  pingsPending: 3,
}
