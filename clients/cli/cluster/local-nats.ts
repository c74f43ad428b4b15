import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { badRequest } from '../../../protocol/errors.js'
import { requireVersion } from '../../../src/cluster/nats-safety.js'
import type { KeptProcessOptions } from './kept-process.js'

const PROGRAM = 'nats-server'
const RELEASES = 'https://github.com/nats-io/nats-server/releases'
/** Of a server: for clients, for the other servers, and for its monitoring. */
export const PORTS_OF_NATS_SERVER = 3

export interface LocalNats {
  /** For `--nats`. */
  readonly addresses: string
  /** For `--nats-monitors`. */
  readonly monitors: string
  readonly servers: readonly KeptProcessOptions[]
}

/** @throws WarpdexError `BAD_REQUEST` where there is no NATS server on the PATH that a cluster can use */
export function requireNatsServer(): void {
  const { error, stdout } = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' })
  if (error !== undefined)
    throw badRequest(`there is no ${PROGRAM} on the PATH; get 2.12 or later from ${RELEASES}`)
  const version = /v(\d+\.\d+)/.exec(stdout)?.[1] ?? stdout.trim()
  requireVersion(`the ${PROGRAM} on the PATH`, version)
}

/**
 * What to start for NATS servers on this machine that sync before they acknowledge. Their data, logs and configurations are in a folder.
 * @param ports three a server
 */
export function localNats(directory: string, ports: readonly number[]): LocalNats {
  const servers = Array.from({ length: ports.length / PORTS_OF_NATS_SERVER }, (_, i) => {
    const [client = 0, route = 0, monitor = 0] = ports.slice(PORTS_OF_NATS_SERVER * i)
    return { name: `nats-${i}`, client, route, monitor }
  })
  const routes = servers.map(({ route }) => `nats://127.0.0.1:${route}`)
  const processes = servers.map(({ name, client, route, monitor }) => {
    const clustered = `cluster { name: warpdex, listen: "127.0.0.1:${route}", routes: ${JSON.stringify(routes)} }`
    const lines = [
      `server_name: ${name}`,
      `listen: "127.0.0.1:${client}"`,
      `http: "127.0.0.1:${monitor}"`,
      `jetstream { store_dir: ${JSON.stringify(resolve(directory, name))}, sync_interval: always }`,
      ...(servers.length > 1 ? [clustered] : []),
    ]
    const config = join(directory, `${name}.conf`)
    writeFileSync(config, `${lines.join('\n')}\n`)
    return {
      name,
      command: PROGRAM,
      args: ['-c', config],
      log: join(directory, `${name}.log`),
      readyUrl: `http://127.0.0.1:${monitor}/healthz`,
    }
  })
  const listed = (address: (one: (typeof servers)[number]) => string) => servers.map(address).join(',')
  return {
    addresses: listed(({ client }) => `nats://127.0.0.1:${client}`),
    monitors: listed(({ monitor }) => `http://127.0.0.1:${monitor}`),
    servers: processes,
  }
}
