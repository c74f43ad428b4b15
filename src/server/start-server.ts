import { LIMITS } from '../../protocol/limits.js'
import type { Config } from '../config/settings.js'
import { Engine, type EngineOptions } from '../engine/engine.js'
import { checkBinding, hostAndPort, originMayConnect } from './binding.js'
import { Connection, type ConnectionLimits } from './connection.js'
import { Front } from './front.js'

/** What tests and benchmarks may want otherwise. */
export interface ServerOptions
  extends Pick<EngineOptions, 'structures' | 'openDevice' | 'onProgress' | 'onWarning' | 'stop'> {
  readonly limits?: Partial<ConnectionLimits>
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
  const backupDirectory = config.backupDirectory === '' ? undefined : config.backupDirectory
  const deviceMemory = config.deviceMemory === 0 ? undefined : config.deviceMemory
  checkBinding(host, token, config.allowUnauthenticated)
  const front = new Front((origin) => originMayConnect(origin, token))
  const port = await front.listen(host, config.port)
  try {
    const memory = { payloadCacheBytes, deviceMemory }
    const settings = { directory, adapter, snapshotLogBytes, recalibrate, backupDirectory, ...memory }
    const engine = await Engine.open({ ...settings, ...options })
    const limits = { ...LIMITS, ...options.limits }
    front.admit((socket, stream) => new Connection(socket, stream, { engine, token, limits }))
    let closed: Promise<void> | undefined
    return {
      url: `ws://${hostAndPort(host, port)}`,
      engine,
      close: () => {
        closed ??= front.close(() => engine.close())
        return closed
      },
    }
  } catch (error) {
    await front.close(async () => {})
    throw error
  }
}
