import { LIMITS } from '../../protocol/limits.js'
import { loadConfig, serveUntilSignal, startServer } from '../../src/server/index.js'
import { modelStructures } from '../model-structure.js'

/*
 * A server to be killed: `kill-server DIRECTORY device|model`. With `model` indexes are plain maps in place of structures on the
 * device, which spares the making of pipelines; all that is durable is the same. It prints its address.
 */
/** So few that merges are under way when servers are killed. */
Object.assign(LIMITS, { mergedTuples: 200 })
const [directory, kind] = process.argv.slice(2)
const config = loadConfig({ flags: { directory, port: 0, snapshotLogBytes: 2 ** 20, feedBytes: 2 ** 30 } })
await serveUntilSignal(
  async (stop) => {
    const server = await startServer(config, {
      stop,
      ...(kind === 'model' ? { structures: modelStructures } : {}),
    })
    console.log(server.url)
    return server
  },
  { shutdownSeconds: config.shutdownSeconds, onWarning: console.error },
)
