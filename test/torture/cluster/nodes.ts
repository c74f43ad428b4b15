import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { childProgram } from '../../../bench/child-program.js'
import { ServerProcess } from '../../../bench/server-process.js'
import { connect, WarpdexError } from '../../../clients/sdk/index.js'
import { NatsServers } from '../../src/cluster/nats-servers.js'
import { Disk } from './disk.js'
import { type Cut, TcpProxy, WHOLE } from './tcp-proxy.js'

/** A node in a process of its own. Clients reach it through a proxy, and it the NATS servers through one each. */
interface Node {
  readonly set: number
  readonly directory: string
  readonly disk: Disk | undefined
  readonly toNats: readonly TcpProxy[]
  readonly door: TcpProxy
  process: ServerProcess | undefined
}

export interface NodesOptions {
  /** Empty. */
  readonly directory: string
  readonly natsServers: 1 | 3
  readonly replicaSets: number
  /** Whether each has a disk of its own, where this process may mount some. */
  readonly disks: boolean
}

/** By which clients reach a node, and its replica set. */
export interface NodeAddress {
  readonly url: string
  readonly set: number
}

/** Of log, after which the owner takes a snapshot: what a node lacks that was away for a while is there. */
const SNAPSHOT_BYTES = 6 * 2 ** 20

/** How long a node has to leave what it owns: others may start. */
const DRAIN_MS = 10_000

/** Nodes and NATS servers that can be killed, stopped and cut off. */
export class Nodes {
  readonly nats: NatsServers
  readonly #options: NodesOptions
  readonly #natsDisks: readonly (Disk | undefined)[]
  readonly #nodes: Node[] = []

  private constructor(options: NodesOptions, nats: NatsServers, natsDisks: readonly (Disk | undefined)[]) {
    this.#options = options
    this.nats = nats
    this.#natsDisks = natsDisks
  }

  /** Three nodes, or two of each replica set. */
  static async start(options: NodesOptions): Promise<Nodes> {
    const { directory, natsServers, replicaSets, disks } = options
    const home = join(directory, 'nats')
    const natsDisks = Array.from({ length: natsServers }, (_, i) =>
      disks ? Disk.mount(NatsServers.folder(home, i)) : undefined,
    )
    const nodes = new Nodes(options, await NatsServers.open(home, natsServers), natsDisks)
    const count = replicaSets === 1 ? 3 : 2 * replicaSets
    try {
      await mkdir(nodes.#snapshots)
      for (let i = 0; i < count; i++) await nodes.#prepare(i)
      const starts = await Promise.allSettled(nodes.#nodes.map((_, i) => nodes.run(i)))
      for (const start of starts) if (start.status === 'rejected') throw start.reason
    } catch (error) {
      await nodes.close()
      throw error
    }
    return nodes
  }

  get addresses(): readonly NodeAddress[] {
    return this.#nodes.map((node) => ({ url: urlOf(node), set: node.set }))
  }

  /** Whether disks can be filled. */
  get haveDisks(): boolean {
    return this.#nodes[0]?.disk !== undefined
  }

  /** Numbers of those that ended though nobody killed them. */
  get ended(): readonly number[] {
    return [...this.#nodes.keys()].filter((i) => this.#nodes[i]!.process?.hasEnded === true)
  }

  /** Starts one, or starts it again. */
  async run(i: number): Promise<void> {
    const node = this.#nodes[i]!
    const monitors =
      this.nats.clientPorts.length > 1 ? ['--nats-monitors', this.nats.monitors] : ['--nats-unsafe']
    const nats = node.toNats.map(({ address }) => `nats://${address}`).join(',')
    const sets = ['--replica-sets', `${this.#options.replicaSets}`, '--replica-set', `${node.set}`]
    const cluster = ['--cluster', 'main', ...sets, '--nats', nats, ...monitors, '--advertise', urlOf(node)]
    const snapshots = [
      '--replica-snapshots',
      this.#snapshots,
      '--replica-snapshot-bytes',
      `${SNAPSHOT_BYTES}`,
    ]
    const rest = ['--adapter', 'software', '--io-threads', '0', '--log-level', 'error']
    const program = childProgram('test/torture/cluster/jumping-node')
    node.process = await ServerProcess.start(node.directory, [...cluster, ...snapshots, ...rest], program)
  }

  async kill(i: number): Promise<void> {
    const { process } = this.#nodes[i]!
    this.#nodes[i]!.process = undefined
    await process?.kill()
  }

  /** Removes all that one has, while it is dead. */
  async empty(i: number): Promise<void> {
    await rm(this.#nodes[i]!.directory, { recursive: true })
  }

  /** Has one leave what it owns to another one, where one can take it. */
  async drain(i: number): Promise<void> {
    const client = await connect(urlOf(this.#nodes[i]!), { set: 0, deadline: DRAIN_MS })
    try {
      await client.handOver()
    } catch (error) {
      if (!(error instanceof WarpdexError)) throw error
    } finally {
      await client.close({ now: true })
    }
  }

  pause(i: number): void {
    this.#nodes[i]!.process?.pause()
  }

  resume(i: number): void {
    this.#nodes[i]!.process?.resume()
  }

  /** Has a node's wall clock jump by a day, forward and back in turn. */
  jump(i: number): void {
    this.#nodes[i]!.process?.signal('SIGUSR2')
  }

  diskOfNode(i: number): Disk | undefined {
    return this.#nodes[i]!.disk
  }

  diskOfNats(i: number): Disk | undefined {
    return this.#natsDisks[i]
  }

  /** Cuts a node off from the NATS servers and from clients. */
  cut(i: number, { nats = WHOLE, clients = WHOLE }: { nats?: Cut; clients?: Cut }): void {
    const { toNats, door } = this.#nodes[i]!
    for (const proxy of toNats) proxy.cut = nats
    door.cut = clients
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((_, i) => this.kill(i)))
    for (const { toNats, door } of this.#nodes) for (const proxy of [...toNats, door]) proxy.close()
    await this.nats.close()
    for (const disk of [...this.#natsDisks, ...this.#nodes.map(({ disk }) => disk)]) disk?.unmount()
  }

  /** Of the replica sets. */
  get #snapshots(): string {
    return join(this.#options.directory, 'snapshots')
  }

  async #prepare(i: number): Promise<void> {
    const { directory: home, disks, replicaSets } = this.#options
    const mounted = join(home, `node-${i}`)
    const disk = disks ? Disk.mount(mounted) : undefined
    const directory = join(mounted, 'data')
    const toNats = await Promise.all(this.nats.clientPorts.map((port) => TcpProxy.open(() => port)))
    const door = await TcpProxy.open(() => Number(new URL(node.process?.url ?? 'ws://nobody:1').port))
    const node: Node = { set: i % replicaSets, directory, disk, toNats, door, process: undefined }
    this.#nodes.push(node)
  }
}

function urlOf({ door }: Node): string {
  return `ws://${door.address}`
}
