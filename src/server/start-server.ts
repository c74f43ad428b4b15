import { LIMITS } from '../../protocol/limits.js'
import type { Config } from '../config/settings.js'
import { Engine, type EngineOptions } from '../engine/engine.js'
import type { Status } from '../http/health.js'
import { openSite } from '../http/open-site.js'
import { type Log, NO_LOG } from '../observe/log.js'
import { Monitor } from '../observe/monitor.js'
import { checkBinding, hostAndPort, originMayConnect } from './binding.js'
import { Connection, type ConnectionLimits } from './connection.js'
import { Front } from './front.js'
import { readersWith } from './readers.js'

/** What tests and benchmarks may want otherwise. */
export interface ServerOptions
  extends Pick<EngineOptions, 'structures' | 'openDevice' | 'onProgress' | 'onWarning' | 'stop'> {
  readonly limits?: Partial<ConnectionLimits>
  /** Files of the status page, where they are not where the build puts them. */
  readonly pageFolder?: string
  /** By default nothing is logged. */
  readonly log?: Log
}

export interface RunningServer {
  /** Where clients connect, `ws://host:port`. */
  readonly url: string
  readonly engine: Engine
  /** Answers what is running, refuses what comes, and gives everything back. May be called more than once. */
  close(): Promise<void>
}

/**
 * Starts a server: listens first, so that a port in use is known before long work begins, then opens the engine.
 *
 * @throws WarpdexError `BAD_REQUEST` for an address that is in use, not this machine's or unsafe without a token; else what
 * opening the engine throws
 */
export async function startServer(config: Config, options: ServerOptions = {}): Promise<RunningServer> {
  const { host, token, directory, adapter, snapshotLogBytes, payloadCacheBytes, recalibrate } = config
  const deviceMemory = config.deviceMemory === 0 ? undefined : config.deviceMemory
  checkBinding(host, token, config.allowUnauthenticated)
  const monitor = new Monitor(options.log ?? NO_LOG)
  let engine: Engine | undefined
  const site = openSite({
    monitor,
    engine: () => engine,
    availability: () => ({ status: front.status, reason: reasonToWait(front.status, engine) }),
    mayRead: readersWith(token, host),
    pageFolder: options.pageFolder,
  })
  const front = new Front({
    answer: (request, response) => void site.answer(request, response),
    mayConnect: (origin) => originMayConnect(origin, token),
    meter: monitor,
  })
  const onWarning = (message: string) => {
    monitor.warn(message)
    options.onWarning?.(message)
  }
  try {
    const port = await front.listen(host, config.port)
    monitor.log.info({ host, port }, 'listening; opening the data directory')
    const settings = { directory, adapter, snapshotLogBytes, payloadCacheBytes, deviceMemory, recalibrate }
    const opened = await Engine.open({ ...settings, ...options, onWarning, meter: monitor.meters })
    engine = opened
    const limits = { ...LIMITS, ...options.limits }
    const context = { engine: opened, token, limits, meter: monitor }
    front.admit((socket, stream) => new Connection(socket, stream, context))
    const { name, software } = opened.adapter
    monitor.log.info({ adapter: name, software, indexes: opened.list().length }, 'ready')
    let closed: Promise<void> | undefined
    return {
      url: `ws://${hostAndPort(host, port)}`,
      engine: opened,
      close: () => {
        closed ??= close(front, opened, monitor)
        return closed
      },
    }
  } catch (error) {
    await front.close(async () => {})
    monitor.stop()
    throw error
  }
}

async function close(front: Front, engine: Engine, monitor: Monitor): Promise<void> {
  monitor.log.info({}, 'stopping: requests that run are answered')
  try {
    await front.close(() => engine.close())
    monitor.log.info({}, 'stopped')
  } finally {
    monitor.stop()
  }
}

/** Why requests would not be answered, in words for people; undefined when they are. */
function reasonToWait(status: Status, engine: Engine | undefined): string | undefined {
  if (status === 'starting') return 'the server is starting: indexes are being loaded'
  if (status === 'stopping') return 'the server is shutting down'
  return engine?.interruption
}
