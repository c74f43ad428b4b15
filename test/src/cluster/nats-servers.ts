import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryDirectory } from '../../persistence/store-helpers.js'

/** Why there is no NATS server to test with; undefined where there is one. */
export function natsLacks(): string | undefined {
  const { error, stdout } = spawnSync('nats-server', ['--version'], { encoding: 'utf8' })
  if (error !== undefined)
    return 'no nats-server on the PATH, 2.12 or later: replica sets are tested without one'
  const [, major = 0, minor = 0] = /v(\d+)\.(\d+)/.exec(stdout)?.map(Number) ?? []
  return major > 2 || minor >= 12
    ? undefined
    : `${stdout.trim()} is too old: replica sets are tested without one`
}

interface Ports {
  readonly client: number
  readonly cluster: number
  readonly http: number
}

interface NatsTestOptions {
  /** Whether they sync what they acknowledge. */
  readonly sync: boolean
  /** Whether clients may ask them how they are set up. */
  readonly tell: boolean
}

/** What lets clients, who have no password and are of account A, ask. */
const TELLING = `
  accounts {
    A { jetstream: enabled, users: [{ user: a, password: a }],
      imports: [{ service: { account: "$SYS", subject: "$SYS.REQ.SERVER.PING.JSZ" } }] }
    "$SYS" { exports: [{ service: "$SYS.REQ.SERVER.PING.JSZ", accounts: [A], response_type: stream }] }
  }
  no_auth_user: a`

/** NATS servers of a test, in processes of their own. */
export class NatsServers {
  readonly #directory: string
  readonly #options: NatsTestOptions
  readonly #ports: readonly Ports[]
  readonly #processes: (ChildProcess | undefined)[] = []

  private constructor(directory: string, options: NatsTestOptions, ports: readonly Ports[]) {
    this.#directory = directory
    this.#options = options
    this.#ports = ports
  }

  /** Starts some, which end with the test. */
  static async start(t: Test, count: 1 | 3, options: Partial<NatsTestOptions> = {}): Promise<NatsServers> {
    const servers = await NatsServers.open(temporaryDirectory(t), count, options)
    t.teardown(() => servers.close())
    return servers
  }

  /** Starts some. @param directory for what they keep */
  static async open(
    directory: string,
    count: 1 | 3,
    { sync = true, tell = true }: Partial<NatsTestOptions> = {},
  ): Promise<NatsServers> {
    const free = await freePorts(3 * count)
    const ports = Array.from({ length: count }, (_, i) => {
      const [client = 0, cluster = 0, http = 0] = free.slice(3 * i)
      return { client, cluster, http }
    })
    const servers = new NatsServers(directory, { sync, tell }, ports)
    for (let i = 0; i < count; i++) await servers.run(i)
    for (const { http } of ports) await untilHealthy(`http://127.0.0.1:${http}/healthz`)
    return servers
  }

  /** Where one keeps what it has. */
  static folder(directory: string, i: number): string {
    return join(directory, `nats-${i}`)
  }

  /** For `--nats`. */
  get addresses(): string {
    return this.#ports.map(({ client }) => `nats://127.0.0.1:${client}`).join(',')
  }

  /** By which clients reach each of them. */
  get clientPorts(): readonly number[] {
    return this.#ports.map(({ client }) => client)
  }

  /** For `--nats-monitors`. */
  get monitors(): string {
    return this.#ports.map(({ http }) => `http://127.0.0.1:${http}`).join(',')
  }

  /** Starts one, or starts it again. */
  async run(i: number): Promise<void> {
    const { client, cluster, http } = this.#ports[i]!
    const directory = NatsServers.folder(this.#directory, i)
    mkdirSync(directory, { recursive: true })
    const routes = this.#ports.map(({ cluster }) => `nats://127.0.0.1:${cluster}`)
    // Clients use the addresses that they are given, since there may be a proxy at these.
    const clustered = `cluster { name: test, listen: "127.0.0.1:${cluster}", routes: ${JSON.stringify(routes)}, no_advertise: true }`
    const config = `
      server_name: n${i}
      listen: "127.0.0.1:${client}"
      http: "127.0.0.1:${http}"
      jetstream { store_dir: ${JSON.stringify(directory)}${this.#options.sync ? ', sync_interval: always' : ''} }
      ${this.#ports.length > 1 ? clustered : ''}
      ${this.#options.tell ? TELLING : ''}`
    const file = join(directory, 'nats.conf')
    writeFileSync(file, config)
    this.#processes[i] = spawn('nats-server', ['-c', file], { stdio: 'ignore' })
  }

  /** Ends one as a failure of its machine would. */
  async kill(i: number): Promise<void> {
    const server = this.#processes[i]
    this.#processes[i] = undefined
    if (server === undefined) return
    server.kill('SIGKILL')
    await once(server, 'exit')
  }

  /** Has one stand still. */
  pause(i: number): void {
    this.#processes[i]?.kill('SIGSTOP')
  }

  /** Has one that stands still go on. */
  resume(i: number): void {
    this.#processes[i]?.kill('SIGCONT')
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((_, i) => this.kill(i)))
  }
}

async function untilHealthy(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
