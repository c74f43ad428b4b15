import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { LIMITS } from '../../protocol/limits.js'
import type { Config } from '../config/settings.js'
import { backupFolderFault } from '../engine/backup-path.js'
import type { Engine } from '../engine/engine.js'
import type { EngineOptions } from '../engine/engine-options.js'
import type { Status } from '../http/health.js'
import { openSite } from '../http/open-site.js'
import { type Log, NO_LOG } from '../observe/log.js'
import { Monitor } from '../observe/monitor.js'
import { Access, type Grant } from './access/access.js'
import { checkBinding, hostAndPort } from './binding.js'
import { Connection } from './connection.js'
import { Flow } from './flow/flow.js'
import { type FlowLimits, flowLimits } from './flow/flow-limits.js'
import { Front } from './front.js'
import { LocalGate } from './gate/local-gate.js'
import { ReplyMemory } from './reply-memory.js'
import { exposureOf } from './secret-files.js'
import { ServedEngine } from './served-engine.js'
import { BusyPolling } from './threads/busy-polling.js'
import { hasDescriptor } from './threads/descriptor.js'
import { ResidentConnection } from './threads/resident-connection.js'
import { SocketThreads } from './threads/socket-threads.js'
import { readTlsIdentity, type TlsIdentity } from './tls.js'

/** What tests and benchmarks may want otherwise. */
export interface ServerOptions
  extends Pick<
    EngineOptions,
    'structures' | 'measureSelections' | 'openDevice' | 'onProgress' | 'onWarning' | 'stop'
  > {
  readonly limits?: Partial<FlowLimits>
  /** Files of the status page, where they are not where the build puts them. */
  readonly pageFolder?: string
  /** By default nothing is logged. */
  readonly log?: Log
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
   * Reads certificate, key and tokens again. Once it resolves no request is carried out by rights that are gone.
   * @throws WarpdexError `BAD_REQUEST` for the first file that cannot be used; it stays as it was
   */
  reload(): Promise<void>
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
  const access = new Access(config)
  checkBinding(config.host, access.guarded, config.allowUnauthenticated)
  const tls = readTlsIdentity(config.tlsCert, config.tlsKey)
  const monitor = new Monitor(options.log ?? NO_LOG)
  const onWarning = (message: string) => {
    monitor.warn(message)
    options.onWarning?.(message)
  }
  for (const warning of warningsOf(config, tls)) onWarning(warning)
  const engine = new ServedEngine()
  const front = openFront(config, options, { access, tls, engine, monitor })
  const flow = new Flow({ ...flowLimits(config), ...options.limits })
  try {
    const port = await front.listen(config.host, config.port)
    monitor.log.info({ host: config.host, port }, 'listening; opening the data directory')
    const opened = await engine.open(config, { ...options, onWarning, meter: monitor.meters })
    const memory = new ReplyMemory(LIMITS.replyMemoryKept)
    const gate = new LocalGate(opened, memory)
    const { limits } = flow
    const threads = await SocketThreads.start(config.ioThreads, { gate, memory, limits, monitor })
    monitor.meters.underWay = () => ({
      requests: flow.inflow.requests + threads.load.requests,
      bytes: flow.inflow.bytes + threads.load.requestBytes,
    })
    front.admit(connector(config, { engine: opened, gate, flow, monitor, threads }), threads)
    const { name, software } = opened.adapter
    monitor.log.info({ adapter: name, software, indexes: opened.list().length }, 'ready')
    const url = `${tls === undefined ? 'ws' : 'wss'}://${hostAndPort(config.host, port)}`
    return running(config, url, { access, front, flow, engine, opened, threads, monitor })
  } catch (error) {
    flow.close()
    await front.close(() => engine.close())
    monitor.stop()
    throw error
  }
}

/** What is allowed and may be a mistake. */
function warningsOf(config: Config, tls: TlsIdentity | undefined): readonly string[] {
  const { backupDirectory } = config
  // It may be a disk that is mounted later, and a server without backups is better than none.
  const fault = backupDirectory === '' ? undefined : backupFolderFault(backupDirectory)
  const exposure = exposureOf(config, tls?.until)
  return fault === undefined ? exposure : [...exposure, `${fault}, or every backup fails`]
}

interface FrontParts {
  readonly access: Access
  readonly tls: TlsIdentity | undefined
  readonly engine: ServedEngine
  readonly monitor: Monitor
}

function openFront(
  { maxConnections, handshakeSeconds }: Config,
  { pageFolder }: ServerOptions,
  { access, tls, engine, monitor }: FrontParts,
): Front {
  const site = openSite({
    monitor,
    engine: () => engine.current,
    availability: () => ({ status: front.status, reason: reasonToWait(front.status, engine.current) }),
    mayRead: (request) => access.mayRead(request),
    isOwnName: (request) => access.isOwnName(request),
    pageFolder,
  })
  const answer = (request: IncomingMessage, response: ServerResponse) => void site.answer(request, response)
  const admitted = (request: IncomingMessage) => access.admit(request)
  const front = new Front({ answer, admitted, tls, maxConnections, handshakeSeconds, meter: monitor })
  return front
}

interface ConnectorParts {
  readonly engine: Engine
  readonly gate: LocalGate
  readonly flow: Flow
  readonly monitor: Monitor
  readonly threads: SocketThreads
}

/** Makes a connection of each WebSocket that was admitted, which may go to a thread for sockets later. */
function connector({ ioThreads }: Config, { engine, gate, flow, monitor, threads }: ConnectorParts) {
  let connections = 0
  // Where the CPU is the device it needs the core.
  const polling = engine.adapter.software ? undefined : new BusyPolling()
  return (socket: WebSocket, stream: Duplex, grant: Grant): Connection | ResidentConnection => {
    const number = connections++
    const onIdle = () => polling?.answered()
    const connection = new Connection(socket, stream, { gate, number, grant, flow, meter: monitor, onIdle })
    if (ioThreads === 0 || !hasDescriptor(stream)) return connection
    return new ResidentConnection({
      connection,
      socket,
      stream,
      underWay: () => gate.underWay,
      polling,
      move: (head) => threads.adopt(number, stream, head, grant, () => connection.handOver()),
    })
  }
}

interface RunningParts {
  readonly access: Access
  readonly front: Front
  readonly flow: Flow
  readonly engine: ServedEngine
  readonly opened: Engine
  readonly threads: SocketThreads
  readonly monitor: Monitor
}

function running({ tlsCert, tlsKey }: Config, url: string, parts: RunningParts): RunningServer {
  const { access, front, flow, engine, opened, threads, monitor } = parts
  let closed: Promise<void> | undefined
  return {
    url,
    engine: opened,
    reload: async () => {
      // A bad certificate must not keep a token that was taken away.
      try {
        access.reload()
        await threads.renewRights()
      } finally {
        const renewed = readTlsIdentity(tlsCert, tlsKey)
        if (renewed !== undefined) front.renew(renewed)
      }
      monitor.log.info({}, 'certificate and tokens were read again, and hold from now on')
    },
    load: () => {
      const { requests, bytes: requestBytes } = monitor.meters.underWay()
      const replyBytes = flow.outflow.bytes + threads.load.replyBytes
      return { connections: front.connections, requests, requestBytes, replyBytes }
    },
    unfinished: () => unfinished(front, opened),
    close: () => {
      closed ??= close(front, engine, monitor).finally(() => flow.close())
      return closed
    },
  }
}

async function close(front: Front, engine: ServedEngine, monitor: Monitor): Promise<void> {
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

function unfinished(front: Front, engine: Engine): readonly string[] {
  const { requests, clients } = front.unanswered
  const { unclosed } = engine
  return [
    ...(requests > 0 ? [`${requests} requests of ${clients} clients`] : []),
    ...(unclosed.length > 0 ? [`work on ${unclosed.map((name) => JSON.stringify(name)).join(', ')}`] : []),
  ]
}
