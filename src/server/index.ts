/** The server program, as the command line, tests and benchmarks use it. */
export { loadConfig } from '../config/load.js'
export { type Config, SETTINGS } from '../config/settings.js'
export { openLog } from '../observe/log.js'
export { banner } from './banner.js'
export { serveUntilSignal } from './signals.js'
export { type RunningServer, type ServerOptions, startServer } from './start-server.js'
