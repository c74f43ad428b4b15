import type { Test } from 'tap'
import type { RunningServer } from '../../../src/server/index.js'
import { start } from '../server/start.js'
import { NatsServers } from './nats-servers.js'

/** Servers that are the nodes of one cluster. */
export async function startNodes(t: Test, count: number, replicaSets = 1): Promise<RunningServer[]> {
  const nats = await NatsServers.start(t, 1)
  const config = { cluster: 'main', replicaSets, nats: nats.addresses, natsUnsafe: true }
  return Promise.all(
    Array.from({ length: count }, (_, i) => start(t, { ...config, directory: `${t.testdirName}/node-${i}` })),
  )
}
