/** The server program, as the command line, tests and benchmarks use it. */
export { loadConfig } from '../config/load.js'
export { type Config, SETTINGS } from '../config/settings.js'
export { openLog } from '../observe/log.js'
export type { Call, Result } from './backend.js'
export { banner } from './banner.js'
export type { ForwardedConnection, Forwarder } from './forwarding.js'
export { serveUntilSignal } from './signals.js'
export { type RunningServer, type ServerOptions, startServer } from './start-server.js'
