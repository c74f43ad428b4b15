import type { AdapterChoice } from '../../gpu/device/adapter.js'
import type { Row } from '../report.js'
import { benchHeavyQuery } from './heavy-query.js'

/** What one client's demands cost others. */
export async function benchFairness(adapter: AdapterChoice): Promise<Row[]> {
  return benchHeavyQuery(adapter)
}
