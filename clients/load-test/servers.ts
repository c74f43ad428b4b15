import { isRedis, type LoadTestOptions } from './options.js'
import type { PayloadSpace } from './payload-space.js'
import type { Target, TestedServer } from './target.js'
import { WarpdexServer, WarpdexTarget } from './warpdex-target.js'

/** Opens one connection to what is tested. */
export async function openTarget(options: LoadTestOptions, payloads: PayloadSpace): Promise<Target> {
  if (!isRedis(options)) return WarpdexTarget.open(options, payloads)
  const { RedisTarget } = await import('./redis-target.js')
  return RedisTarget.open(options, payloads)
}

/** @throws WarpdexError `CONNECTION_LOST`, `UNAUTHORISED` */
export async function openServer(options: LoadTestOptions, payloads: PayloadSpace): Promise<TestedServer> {
  if (!isRedis(options)) return WarpdexServer.open(options, payloads)
  const { RedisServer } = await import('./redis-target.js')
  return RedisServer.open(options)
}
