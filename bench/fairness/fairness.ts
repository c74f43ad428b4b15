import type { AdapterChoice } from '../../gpu/device/adapter.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Row } from '../report.js'
import { benchHeavyQuery } from './heavy-query.js'
import { benchStalledClients } from './stalled-clients.js'

/** Seconds for which clients may stop, in a run of a minute. */
const QUICK_STALL_SECONDS = 5

/** How long clients wait for others that take more than their part. */
export async function benchFairness(
  adapter: AdapterChoice,
  kind: 'hardware' | 'software',
  quick: boolean,
): Promise<Row[]> {
  return [
    ...(await benchHeavyQuery(adapter, kind)),
    ...(await benchStalledClients(adapter, quick ? QUICK_STALL_SECONDS : LIMITS.stallSeconds)),
  ]
}
