import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DirectoryLock } from '../../../persistence/disk/directory-lock.js'
import { KeptProcess, type KeptProcessOptions } from './kept-process.js'
import { type LocalNats, localNats, PORTS_OF_NATS_SERVER, requireNatsServer } from './local-nats.js'
import { freePorts } from './ports.js'

/** The command line, whose `serve` is a node. */
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url))
const HOST = '127.0.0.1'
const NATS_SERVERS = 3
/** Folder for snapshots of the nodes, in that of the cluster. */
const SNAPSHOTS = 'snapshots'

export interface DevClusterOptions {
  /** Folder of all that it writes. */
  readonly directory: string
  readonly nodes: number
  /** What the command of each node begins with, where that is anything. */
  readonly prefixes: readonly (readonly string[])[]
  /** Of the first node; 0 for free ones. */
  readonly port: number
  /** Settings of all nodes, as flags. */
  readonly flags: readonly string[]
  /** Told, in lines for people, of nodes that are ready, and of what ends by itself. */
  readonly onNotice: (text: string) => void
}

/** A cluster for trials: NATS servers and nodes on one machine, as processes of this one. */
export class DevCluster {
  readonly #lock: DirectoryLock
  readonly #nats: KeptProcess[] = []
  readonly #nodes: KeptProcess[] = []
  /** Of the nodes. */
  #urls: readonly string[] = []

  private constructor(lock: DirectoryLock) {
    this.#lock = lock
  }

  /**
   * Starts one, which goes on with what is in its folder.
   * @param stop aborting it gives the start up, with its reason
   * @throws WarpdexError `BAD_REQUEST` where there is no NATS server, or a port or the folder is in use; `INTERNAL` for a process that ends before it is ready
   */
  static async start(options: DevClusterOptions, stop: AbortSignal): Promise<DevCluster> {
    const { directory } = options
    requireNatsServer()
    mkdirSync(join(directory, SNAPSHOTS), { recursive: true })
    const cluster = new DevCluster(DirectoryLock.acquire(directory))
    // What this process starts does not outlive it.
    process.once('exit', () => cluster.#kill())
    try {
      await cluster.#open(options, stop)
      return cluster
    } catch (error) {
      await cluster.close()
      throw error
    }
  }

  get urls(): readonly string[] {
    return this.#urls
  }

  /** What still runs, for people. */
  unfinished(): readonly string[] {
    return [...this.#nodes, ...this.#nats].filter(({ isRunning }) => isRunning).map(({ name }) => name)
  }

  /** Has the nodes read again what a server reads at SIGHUP. */
  async reload(): Promise<void> {
    for (const node of this.#nodes) node.signal('SIGHUP')
  }

  /** Ends the nodes, and then the NATS servers, which they need until then. */
  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()))
    await Promise.all(this.#nats.map((server) => server.stop()))
    this.#lock.release()
  }

  async #open(options: DevClusterOptions, stop: AbortSignal): Promise<void> {
    const { directory, nodes, port, onNotice } = options
    const ports = await freePorts(port, nodes + NATS_SERVERS * PORTS_OF_NATS_SERVER)
    const nats = localNats(directory, ports.slice(nodes))
    for (const server of nats.servers) this.#nats.push(new KeptProcess(server, onNotice))
    await Promise.all(this.#nats.map((server) => server.ready(stop)))
    onNotice(`NATS ${nats.addresses}`)
    const own = ports.slice(0, nodes)
    this.#urls = own.map((port) => `ws://${HOST}:${port}`)
    for (const [i, port] of own.entries())
      this.#nodes.push(new KeptProcess(nodeProcess(i, port, nats, options), onNotice))
    const ready = this.#nodes.map(async (node, i) => {
      await node.ready(stop)
      onNotice(`${node.name} ${this.#urls[i]}`)
    })
    await Promise.all(ready)
  }

  #kill(): void {
    for (const one of [...this.#nodes, ...this.#nats]) if (one.isRunning) one.signal('SIGKILL')
  }
}

function nodeProcess(
  i: number,
  port: number,
  { addresses, monitors }: LocalNats,
  { directory, flags, prefixes }: DevClusterOptions,
): KeptProcessOptions {
  const name = `node-${i}`
  const settings = {
    directory: join(directory, name),
    host: HOST,
    port: String(port),
    cluster: 'dev',
    nats: addresses,
    'nats-monitors': monitors,
    'replica-snapshots': join(directory, SNAPSHOTS),
  }
  const own = Object.entries(settings).flatMap(([setting, value]) => [`--${setting}`, value])
  const serve = [process.execPath, ...process.execArgv, PROGRAM, 'serve', ...own, ...flags]
  const [command = '', ...args] = [...(prefixes[i] ?? []), ...serve]
  return {
    name,
    command,
    args,
    log: join(directory, `${name}.log`),
    readyUrl: `http://${HOST}:${port}/ready`,
  }
}
