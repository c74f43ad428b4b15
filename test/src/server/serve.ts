import { closedBySignal, loadConfig, startServer } from '../../../src/server/index.js'

/** A server process as users have it: `serve.ts DIRECTORY`. It prints its address. */
const config = loadConfig({ flags: { directory: process.argv[2], port: 0, snapshotLogBytes: 2 ** 20 } })
const server = await startServer(config)
console.log(server.url)
await closedBySignal(server)
