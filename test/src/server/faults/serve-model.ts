import { Device } from '../../../../gpu/device/device.js'
import type { BackpressureLimits } from '../../../../src/server/backpressure/backpressure-limits.js'
import {
  type Config,
  loadConfig,
  openLog,
  serveUntilSignal,
  startServer,
} from '../../../../src/server/index.js'
import { modelStructures } from '../../../model-structure.js'

/** What `serve-model.ts` is told, as JSON. */
export interface ModelServerOptions {
  readonly flags: Partial<Config>
  readonly limits?: Partial<BackpressureLimits>
  /** Bytes that `count` answers with; absent for one that never answers. */
  readonly countBytes?: number
}

/** A server process over models of structures, of which `count` does something else. It prints its address. */
const { flags, limits, countBytes }: ModelServerOptions = JSON.parse(process.argv[2])
const config = loadConfig({ flags: { port: 0, ...flags } })
const count = () =>
  countBytes === undefined ? new Promise<never>(() => {}) : Promise.resolve(new Uint8Array(countBytes))
await serveUntilSignal(
  async (stop) => {
    const server = await startServer(config, {
      stop,
      log: openLog({ level: 'warn', format: 'text' }),
      openDevice: () => Device.open('software'),
      structures: {
        ...modelStructures,
        create: async (device, shape) =>
          Object.assign(await modelStructures.create(device, shape), { count }),
      },
      ...(limits === undefined ? {} : { limits }),
    })
    console.log(server.url)
    return server
  },
  { shutdownSeconds: config.shutdownSeconds, onWarning: console.error },
)
