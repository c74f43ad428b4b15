import { SnapshotThread } from '../../persistence/snapshots/snapshot-thread.js'
import { toWarpdexError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { ClusterMember, leaveCluster } from '../cluster/cluster-member.js'
import { ReplicaGate } from '../cluster/replica-gate.js'
import type { Config } from '../config/settings.js'
import { backupFolderFault } from '../engine/backup-path.js'
import { Engine } from '../engine/engine.js'
import type { EngineOptions } from '../engine/engine-options.js'
import { openSite } from '../http/site.js'
import { type Log, NO_LOG } from '../observe/log.js'
import { Monitor } from '../observe/monitor.js'
import { Access } from './access/access.js'
import type { Load } from './backpressure/backpressure.js'
import { type BackpressureLimits, backpressureLimits } from './backpressure/backpressure-limits.js'
import { checkBinding, hostAndPort } from './binding.js'
import type { Forward } from './forwarding.js'
import type { Address, ListenerOptions } from './listener.js'
import { Listeners } from './listeners.js'
import { LocalBackend } from './local-backend.js'
import { ReplyMemory } from './reply-memory.js'
import { exposureOf } from './secret-files.js'
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
  /** Carries out what clients ask of a whole cluster of several replica sets; without it they are refused. */
  readonly forward?: Forward
  /** By default nothing is logged. */
  readonly log?: Log
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
  const server = new RunningServer(config, options, access)
  try {
    await server.open()
    return server
  } catch (error) {
    await server.close()
    throw error
  }
}

/** A server, and all that it is made of. */
export class RunningServer {
  /** Where clients connect, `ws://host:port`, or `wss://` where the port speaks TLS; known once it listens. */
  url = ''
  readonly #config: Config
  readonly #options: ServerOptions
  readonly #access: Access
  readonly #tls: TlsIdentity | undefined
  readonly #monitor: Monitor
  readonly #backend: LocalBackend
  readonly #listeners: Listeners
  #snapshotThread: SnapshotThread | undefined
  #engine: Engine | undefined
  /** Only of a node of a cluster. */
  #member: ClusterMember | undefined
  /** Of a node that begins anew. */
  #restoring: Promise<void> | undefined
  #closed: Promise<void> | undefined

  constructor(config: Config, options: ServerOptions, access: Access) {
    this.#config = config
    this.#options = options
    this.#access = access
    this.#tls = readTlsIdentity(config.tlsCert, config.tlsKey)
    const monitor = new Monitor(options.log ?? NO_LOG, config.slowMilliseconds)
    this.#monitor = monitor
    const memory = new ReplyMemory(LIMITS.replyMemoryKept)
    const { maxConnections } = config
    const backend = new LocalBackend({ access, maxConnections, monitor, memory, forward: options.forward })
    this.#backend = backend
    backend.show(
      openSite({
        monitor,
        engine: () => this.#engine,
        clients: () => this.#listeners.clients(),
        availability: () => ({ status: backend.status, reason: this.#reasonToWait }),
        mayRead: (request) => access.mayRead(request),
        isOwnName: (request) => access.isOwnName(request),
        pageFolder: options.pageFolder,
      }),
    )
    const limits = { ...backpressureLimits(config), ...options.limits }
    this.#listeners = new Listeners({ limits, backend, memory, monitor })
    monitor.nameOf = (handle) => this.#engine?.nameOf(handle)
    monitor.meters.underWay = () => {
      const { requests, requestBytes: bytes } = this.#listeners.load
      return { requests, bytes }
    }
  }

  /** Listens, and opens the engine. @throws as `startServer`; `close` gives back what is there by then */
  async open(): Promise<void> {
    const config = this.#config
    const { log } = this.#monitor
    const tls = this.#tls
    const onWarning = (message: string) => {
      this.#monitor.warn(message)
      this.#options.onWarning?.(message)
    }
    for (const warning of warningsOf(config, tls)) onWarning(warning)
    const port = await this.#listeners.listen(addressesOf(config, tls), config.ioThreads)
    this.url = `${tls === undefined ? 'ws' : 'wss'}://${hostAndPort(config.host, port)}`
    log.info({ host: config.host, port }, 'listening; opening the data directory')
    if (config.ioThreads > 0) this.#snapshotThread = new SnapshotThread(onWarning)
    if (config.cluster !== '') this.#member = await ClusterMember.join(config, this.url, onWarning)
    await this.#openEngine(onWarning)
  }

  /** Opens the engine, and lets clients in. */
  async #openEngine(onWarning: (message: string) => void): Promise<void> {
    const { log, meters: meter } = this.#monitor
    const snapshotThread = this.#snapshotThread
    const own = { ...this.#options, onWarning, meter, snapshotThread }
    const engine = await Engine.open({ ...engineOptions(this.#config), ...own })
    this.#engine = engine
    if (this.#member === undefined) await leaveCluster(engine, onWarning)
    const node = await this.#member?.begin(engine, () => {
      if (this.#closed === undefined) this.#restoring = this.#restore(onWarning)
    })
    this.#backend.begin(engine, node && new ReplicaGate(node, () => engine.replica.cluster?.()))
    const { name, software } = engine.adapter
    log.info({ adapter: name, software, indexes: engine.list().length }, 'ready')
  }

  /** Has a node of a cluster begin anew from a snapshot: the log goes on from what its engine does not have. */
  async #restore(onWarning: (message: string) => void): Promise<void> {
    this.#backend.pause()
    try {
      await this.#member?.stopFollowing()
      await this.#engine?.close()
      await this.#member?.restore()
      await this.#openEngine(onWarning)
    } catch (thrown) {
      onWarning(`the node cannot go on from a snapshot: ${toWarpdexError(thrown).message}; start it again`)
    }
  }

  get engine(): Engine {
    if (this.#engine === undefined) throw new Error('the engine is not open')
    return this.#engine
  }

  /**
   * Reads certificate, key and tokens again. Once it resolves no request is carried out by rights that are gone.
   * @throws WarpdexError `BAD_REQUEST` for the first file that cannot be used; it stays as it was
   */
  async reload(): Promise<void> {
    const { tlsCert, tlsKey } = this.#config
    // A bad certificate must not keep a token that was taken away.
    try {
      this.#access.reload()
    } finally {
      const renewed = readTlsIdentity(tlsCert, tlsKey)
      if (renewed !== undefined) this.#listeners.renew(renewed)
    }
    this.#monitor.log.info({}, 'certificate and tokens were read again, and hold from now on')
  }

  /** What clients take at the moment. */
  readonly load = (): Load & { readonly connections: number } => ({
    connections: this.#backend.connections,
    ...this.#listeners.load,
  })

  /** What a close still waits for, for people. */
  unfinished(): readonly string[] {
    const { requests, waitingClients } = this.#listeners.load
    const { unclosed } = this.engine
    return [
      ...(requests > 0 ? [`${requests} requests of ${waitingClients} clients`] : []),
      ...(unclosed.length > 0 ? [`work on ${unclosed.map((name) => JSON.stringify(name)).join(', ')}`] : []),
    ]
  }

  /** Answers what is running, refuses what comes, and gives everything back. May be called more than once. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /** Lets nobody in any more, answers what runs, and sees everybody out. HTTP is answered until then. */
  async #close(): Promise<void> {
    const { log } = this.#monitor
    log.info({}, 'stopping: requests that run are answered')
    await this.#restoring
    this.#backend.stop()
    try {
      await this.#member?.stopFollowing()
      await this.#engine?.close()
    } finally {
      await this.#member?.close()
      this.#backend.stopForwarding()
      await Promise.all([this.#listeners.close(), this.#snapshotThread?.stop()])
      this.#monitor.stop()
    }
    log.info({}, 'stopped')
  }

  /** Why requests would not be answered, in words for people; undefined when they are. */
  get #reasonToWait(): string | undefined {
    const { status } = this.#backend
    if (status === 'starting') return 'the server is starting: indexes are being loaded'
    if (status === 'stopping') return 'the server is shutting down'
    return this.#engine?.interruption
  }
}

/** What a server sets of its engine; 0 and the empty text mean that there is none. */
function engineOptions(config: Config) {
  const { directory, adapter, snapshotLogBytes, feedBytes, payloadCacheBytes, queryMemory, recalibrate } =
    config
  const { backupDirectory, deviceMemory, queryMemoryInAll } = config
  return {
    ...{ directory, adapter, snapshotLogBytes, feedBytes, payloadCacheBytes, queryMemory, recalibrate },
    backupDirectory: backupDirectory || undefined,
    deviceMemory: deviceMemory || undefined,
    queryMemoryInAll: queryMemoryInAll || undefined,
  }
}

/** Where to listen: the address and port and, where it is asked for, a Unix socket. */
function addressesOf(
  { host, port, listen, maxConnections, handshakeSeconds }: Config,
  tls: TlsIdentity | undefined,
): readonly ListenerOptions[] {
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
