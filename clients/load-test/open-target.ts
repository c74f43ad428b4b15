import { isRedis, type LoadTestOptions } from './options.js'
import type { PayloadSpace } from './payload-space.js'
import type { Target } from './target.js'
import { WarpdexTarget } from './warpdex-target.js'

/**
 * Opens a connection to what is tested.
 * @throws WarpdexError `CONNECTION_LOST`, `UNAUTHORISED`
 */
export async function openTarget(options: LoadTestOptions, payloads: PayloadSpace): Promise<Target> {
  if (!isRedis(options)) return WarpdexTarget.open(options, payloads)
  const { RedisTarget } = await import('./redis-target.js')
  return RedisTarget.open(options)
}
