import { join } from 'node:path'
import type { Test } from 'tap'
import type { Config, RunningServer } from '../../../src/server/index.js'
import { temporaryDirectory } from '../../persistence/store-helpers.js'
import { start } from '../server/start.js'
import { NatsServers } from './nats-servers.js'

/** Servers that are the nodes of one cluster. */
export async function startNodes(
  t: Test,
  count: number,
  replicaSets = 1,
  settings: Partial<Config> = {},
): Promise<RunningServer[]> {
  const config = { ...settings, ...(await clusterSettings(t)), replicaSets }
  const folder = temporaryDirectory(t)
  return Promise.all(
    Array.from({ length: count }, (_, i) => start(t, { ...config, directory: join(folder, `node-${i}`) })),
  )
}

/** Settings of the nodes of a cluster, with a NATS server of its own. */
export async function clusterSettings(t: Test): Promise<Pick<Config, 'cluster' | 'nats' | 'natsUnsafe'>> {
  const nats = await NatsServers.start(t, 1)
  return { cluster: 'main', nats: nats.addresses, natsUnsafe: true }
}
