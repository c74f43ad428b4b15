import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ServerProcess } from '../../../bench/server-process.js'
import { NatsServers } from '../../src/cluster/nats-servers.js'
import { type Cut, TcpProxy, WHOLE } from './tcp-proxy.js'

/** A node in a process of its own. Clients reach it through a proxy, and it the NATS servers through one each. */
interface Node {
  readonly directory: string
  readonly toNats: readonly TcpProxy[]
  readonly door: TcpProxy
  process: ServerProcess | undefined
}

/** Nodes and NATS servers that can be killed, stopped and cut off. */
export class Nodes {
  readonly nats: NatsServers
  readonly #nodes: Node[] = []

  private constructor(nats: NatsServers) {
    this.nats = nats
  }

  static async start(directory: string, count: number, natsServers: 1 | 3): Promise<Nodes> {
    const nodes = new Nodes(await NatsServers.open(join(directory, 'nats'), natsServers))
    try {
      for (let i = 0; i < count; i++) await nodes.#prepare(join(directory, `node-${i}`))
      const starts = await Promise.allSettled(nodes.#nodes.map((_, i) => nodes.run(i)))
      for (const start of starts) if (start.status === 'rejected') throw start.reason
    } catch (error) {
      await nodes.close()
      throw error
    }
    return nodes
  }

  /** By which clients reach them. */
  get urls(): readonly string[] {
    return this.#nodes.map(urlOf)
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
    const cluster = ['--cluster', 'main', '--nats', nats, ...monitors, '--advertise', urlOf(node)]
    const flags = [...cluster, '--adapter', 'software', '--io-threads', '0', '--log-level', 'error']
    node.process = await ServerProcess.start(node.directory, flags)
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

  pause(i: number): void {
    this.#nodes[i]!.process?.pause()
  }

  resume(i: number): void {
    this.#nodes[i]!.process?.resume()
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
  }

  async #prepare(directory: string): Promise<void> {
    const toNats = await Promise.all(this.nats.clientPorts.map((port) => TcpProxy.open(() => port)))
    const door = await TcpProxy.open(() => Number(new URL(node.process?.url ?? 'ws://nobody:1').port))
    const node: Node = { directory, toNats, door, process: undefined }
    this.#nodes.push(node)
  }
}

function urlOf({ door }: Node): string {
  return `ws://${door.address}`
}
