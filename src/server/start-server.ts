import { LIMITS } from '../../protocol/limits.js'
import type { Config } from '../config/settings.js'
import { backupFolderFault } from '../engine/backup-path.js'
import type { Engine } from '../engine/engine.js'
import type { EngineOptions } from '../engine/engine-options.js'
import { openSite } from '../http/open-site.js'
import { type Log, NO_LOG } from '../observe/log.js'
import { Monitor } from '../observe/monitor.js'
import { Access } from './access/access.js'
import { type BackpressureLimits, backpressureLimits } from './backpressure/backpressure-limits.js'
import { checkBinding, hostAndPort } from './binding.js'
import type { Address, ListenerOptions } from './listener.js'
import { Listeners } from './listeners.js'
import { LocalBackend } from './local-backend.js'
import { ReplyMemory } from './reply-memory.js'
import { exposureOf } from './secret-files.js'
import { ServedEngine } from './served-engine.js'
import { readTlsIdentity, type TlsIdentity } from './tls.js'

/** What tests and benchmarks may want otherwise. */
export interface ServerOptions
  extends Pick<
    EngineOptions,
    'structures' | 'measureSelections' | 'openDevice' | 'onProgress' | 'onWarning' | 'stop'
  > {
  readonly limits?: Partial<BackpressureLimits>
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
  const memory = new ReplyMemory(LIMITS.replyMemoryKept)
  const backend = new LocalBackend({ access, maxConnections: config.maxConnections, monitor, memory })
  backend.show(
    openSite({
      monitor,
      engine: () => engine.current,
      availability: () => ({ status: backend.status, reason: reasonToWait(backend, engine.current) }),
      mayRead: (request) => access.mayRead(request),
      isOwnName: (request) => access.isOwnName(request),
      pageFolder: options.pageFolder,
    }),
  )
  const limits = { ...backpressureLimits(config), ...options.limits }
  const listeners = new Listeners({ limits, backend, memory, monitor })
  monitor.meters.underWay = () => {
    const { requests, requestBytes: bytes } = listeners.load
    return { requests, bytes }
  }
  const parts: RunningParts = { access, backend, listeners, engine, monitor }
  try {
    const port = await listeners.listen(addressesOf(config, tls), config.ioThreads)
    monitor.log.info({ host: config.host, port }, 'listening; opening the data directory')
    const opened = await engine.open(config, { ...options, onWarning, meter: monitor.meters })
    backend.begin(opened)
    listeners.begin()
    const { name, software } = opened.adapter
    monitor.log.info({ adapter: name, software, indexes: opened.list().length }, 'ready')
    const url = `${tls === undefined ? 'ws' : 'wss'}://${hostAndPort(config.host, port)}`
    return running(config, url, opened, parts)
  } catch (error) {
    await close(parts)
    throw error
  }
}

/** Where to listen: the address and port and, where it is asked for, a Unix socket. */
function addressesOf(
  { host, port, listen, maxConnections, handshakeSeconds }: Config,
  tls: TlsIdentity | undefined,
): readonly Omit<ListenerOptions, 'shared'>[] {
  const addresses: Address[] = [{ host, port }]
  if (listen !== '') addresses.push({ path: listen.slice('unix:'.length) })
  return addresses.map((address) => ({
    address,
    // Whoever may open a Unix socket is on this machine.
    tls: address.path === undefined ? tls : undefined,
    maxConnections,
    handshakeSeconds,
  }))
}

/** What is allowed and may be a mistake. */
function warningsOf(config: Config, tls: TlsIdentity | undefined): readonly string[] {
  const { backupDirectory } = config
  // It may be a disk that is mounted later, and a server without backups is better than none.
  const fault = backupDirectory === '' ? undefined : backupFolderFault(backupDirectory)
  const exposure = exposureOf(config, tls?.until)
  return fault === undefined ? exposure : [...exposure, `${fault}, or every backup fails`]
}

interface RunningParts {
  readonly access: Access
  readonly backend: LocalBackend
  readonly listeners: Listeners
  readonly engine: ServedEngine
  readonly monitor: Monitor
}

function running(
  { tlsCert, tlsKey }: Config,
  url: string,
  opened: Engine,
  parts: RunningParts,
): RunningServer {
  const { access, backend, listeners, monitor } = parts
  let closed: Promise<void> | undefined
  return {
    url,
    engine: opened,
    reload: async () => {
      // A bad certificate must not keep a token that was taken away.
      try {
        access.reload()
      } finally {
        const renewed = readTlsIdentity(tlsCert, tlsKey)
        if (renewed !== undefined) listeners.renew(renewed)
      }
      monitor.log.info({}, 'certificate and tokens were read again, and hold from now on')
    },
    load: () => {
      const { requests, requestBytes, replyBytes } = listeners.load
      return { connections: backend.connections, requests, requestBytes, replyBytes }
    },
    unfinished: () => unfinished(listeners, opened),
    close: () => {
      closed ??= close(parts)
      return closed
    },
  }
}

/** Lets nobody in any more, answers what runs, and sees everybody out. HTTP is answered until then. */
async function close({ backend, listeners, engine, monitor }: RunningParts): Promise<void> {
  monitor.log.info({}, 'stopping: requests that run are answered')
  backend.stop()
  try {
    await engine.close()
  } finally {
    await listeners.close()
    monitor.stop()
  }
  monitor.log.info({}, 'stopped')
}

/** Why requests would not be answered, in words for people; undefined when they are. */
function reasonToWait({ status }: LocalBackend, engine: Engine | undefined): string | undefined {
  if (status === 'starting') return 'the server is starting: indexes are being loaded'
  if (status === 'stopping') return 'the server is shutting down'
  return engine?.interruption
}

function unfinished(listeners: Listeners, engine: Engine): readonly string[] {
  const { requests, waitingClients } = listeners.load
  const { unclosed } = engine
  return [
    ...(requests > 0 ? [`${requests} requests of ${waitingClients} clients`] : []),
    ...(unclosed.length > 0 ? [`work on ${unclosed.map((name) => JSON.stringify(name)).join(', ')}`] : []),
  ]
}
