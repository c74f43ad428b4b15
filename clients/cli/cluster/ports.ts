import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { badRequest } from '../../../protocol/errors.js'

const HOST = '127.0.0.1'
const LAST_PORT = 65_535

/**
 * Ports of this machine that nobody listens on, one after the other.
 * @param first 0 for any, which need not be neighbours
 * @throws WarpdexError `BAD_REQUEST` for one that is in use
 */
export async function freePorts(first: number, count: number): Promise<number[]> {
  const last = first + count - 1
  if (last > LAST_PORT) throw badRequest(`--port is ${first}; ${count} ports from there on are needed`)
  const servers = Array.from({ length: count }, () => createServer())
  try {
    for (const [i, server] of servers.entries()) {
      server.listen(first === 0 ? 0 : first + i, HOST)
      await once(server, 'listening')
    }
    return servers.map((server) => (server.address() as AddressInfo).port)
  } catch (cause) {
    const { code, port, message } = Object(cause)
    if (code !== 'EADDRINUSE') throw badRequest(`the ports cannot be used: ${message}`, { cause })
    throw badRequest(
      `port ${port} is in use, and the cluster needs ${first} to ${last}; name others by --port, or 0 for free ones`,
    )
  } finally {
    for (const server of servers) server.close()
  }
}
