import type { IncomingMessage } from 'node:http'
import { LIMITS } from '../../protocol/limits.js'
import type { Config } from '../config/settings.js'
import { Engine, type EngineOptions } from '../engine/engine.js'
import { Access } from './access/access.js'
import { checkBinding, hostAndPort } from './binding.js'
import { Connection } from './connection.js'
import { Flow } from './flow/flow.js'
import { type FlowLimits, flowLimits } from './flow/flow-limits.js'
import { Front } from './front.js'
import { LocalGate } from './gate/local-gate.js'
import { ReplyMemory } from './reply-memory.js'
import { exposureOf } from './secret-files.js'
import { SocketThreads } from './threads/socket-threads.js'
import { readTlsIdentity } from './tls.js'

/** What tests and benchmarks may want otherwise. */
export interface ServerOptions
  extends Pick<EngineOptions, 'structures' | 'openDevice' | 'onProgress' | 'onWarning' | 'stop'> {
  readonly limits?: Partial<FlowLimits>
}

/** What clients take at the moment: requests are those that are not answered, replies those that have not left. */
export interface ServerLoad {
  readonly connections: number
  readonly requests: number
  readonly requestBytes: number
  readonly replyBytes: number
}

export interface RunningServer {
  /** Where clients connect, `ws://host:port`, or `wss://` where the port speaks TLS. */
  readonly url: string
  readonly engine: Engine
  /**
   * Reads certificate, key and tokens again.
   * @throws WarpdexError `BAD_REQUEST` for the first file that cannot be used; it stays as it was
   */
  reload(): void
  /** What clients take at the moment. */
  load(): ServerLoad
  /** What a close still waits for, for people. */
  unfinished(): readonly string[]
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
  const { host, tlsCert, tlsKey, directory, adapter, snapshotLogBytes, payloadCacheBytes, recalibrate } =
    config
  const deviceMemory = config.deviceMemory === 0 ? undefined : config.deviceMemory
  const access = new Access(config)
  checkBinding(host, access.guarded, config.allowUnauthenticated)
  const tls = readTlsIdentity(tlsCert, tlsKey)
  for (const warning of exposureOf(config, tls?.until)) options.onWarning?.(warning)
  const { maxConnections, handshakeSeconds } = config
  const admitted = (request: IncomingMessage) => access.admit(request)
  const front = new Front({ admitted, tls, maxConnections, handshakeSeconds })
  const flow = new Flow({ ...flowLimits(config), ...options.limits })
  const port = await front.listen(host, config.port)
  try {
    const settings = { directory, adapter, snapshotLogBytes, payloadCacheBytes, deviceMemory, recalibrate }
    const engine = await Engine.open({ ...settings, ...options })
    const memory = new ReplyMemory(LIMITS.replyMemoryKept)
    const gate = new LocalGate(engine, memory)
    let connections = 0
    const number = () => connections++
    const { onWarning = () => {} } = options
    const { limits } = flow
    const threads = await SocketThreads.start(config.ioThreads, { gate, memory, limits, number, onWarning })
    front.admit(
      (socket, stream, grant) => new Connection(socket, stream, { gate, number: number(), grant, flow }),
      threads,
    )
    let closed: Promise<void> | undefined
    return {
      url: `${tls === undefined ? 'ws' : 'wss'}://${hostAndPort(host, port)}`,
      engine,
      reload: () => {
        // A bad certificate must not keep a token that was taken away.
        try {
          access.reload()
          threads.renewRights()
        } finally {
          const renewed = readTlsIdentity(tlsCert, tlsKey)
          if (renewed !== undefined) front.renew(renewed)
        }
      },
      load: () => ({
        connections: front.connections,
        requests: flow.inflow.requests + threads.load.requests,
        requestBytes: flow.inflow.bytes + threads.load.requestBytes,
        replyBytes: flow.outflow.bytes + threads.load.replyBytes,
      }),
      unfinished: () => unfinished(front, engine),
      close: () => {
        closed ??= front.close(() => engine.close()).finally(() => flow.close())
        return closed
      },
    }
  } catch (error) {
    flow.close()
    await front.close(async () => {})
    throw error
  }
}

function unfinished(front: Front, engine: Engine): readonly string[] {
  const { requests, clients } = front.unanswered
  const { unclosed } = engine
  return [
    ...(requests > 0 ? [`${requests} requests of ${clients} clients`] : []),
    ...(unclosed.length > 0 ? [`work on ${unclosed.map((name) => JSON.stringify(name)).join(', ')}`] : []),
  ]
}
