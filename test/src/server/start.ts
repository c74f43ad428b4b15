import type { Test } from 'tap'
import { ClusterForwarder } from '../../../clients/forward/forwarder.js'
import { Device } from '../../../gpu/device/device.js'
import {
  type Config,
  loadConfig,
  type RunningServer,
  type ServerOptions,
  startServer,
} from '../../../src/server/index.js'
import { modelStructures } from '../../model-structure.js'

/** A server over models of structures on a free port, closed when the test is over. */
export async function start(
  t: Test,
  flags: Partial<Config> = {},
  options: ServerOptions = {},
): Promise<RunningServer> {
  const config = loadConfig({
    flags: { port: 0, ioThreads: 0, ...flags, directory: flags.directory ?? t.testdir() },
  })
  const server = await startServer(config, {
    structures: modelStructures,
    openDevice: () => Device.open('software'),
    forward: (connection) => new ClusterForwarder(connection),
    ...options,
  })
  t.teardown(() => server.close())
  return server
}
