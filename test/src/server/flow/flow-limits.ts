import type { FlowLimits } from '../../../../src/server/flow/flow-limits.js'

/** Small numbers, so that each bound is near. */
export const SMALL: FlowLimits = {
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
