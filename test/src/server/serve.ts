import { loadConfig, serveUntilSignal, startServer } from '../../../src/server/index.js'

/** A server process as users have it: `serve.ts DIRECTORY`. It prints its address. */
const config = loadConfig({ flags: { directory: process.argv[2], port: 0, snapshotLogBytes: 2 ** 20 } })
await serveUntilSignal(
  async (stop) => {
    const server = await startServer(config, { stop })
    console.log(server.url)
    return server
  },
  { shutdownSeconds: config.shutdownSeconds, onWarning: console.error },
)
