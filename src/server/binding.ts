import { isIPv6 } from 'node:net'
import { WarpdexError } from '../../protocol/errors.js'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i

/** Whether a host, as addresses or as URLs have it, is this machine and cannot be another. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host.replace(/^\[|\]$/g, ''))
}

/**
 * Refuses to let strangers in by accident.
 * @throws WarpdexError `BAD_REQUEST` for an address beyond this machine without a token, unless that is allowed explicitly
 */
export function checkBinding(host: string, token: string, allowUnauthenticated: boolean): void {
  if (isLoopback(host) || token !== '' || allowUnauthenticated) return
  throw new WarpdexError(
    'BAD_REQUEST',
    `${host} can be reached from other machines, and no token is set: anyone could read and write; set a token, listen on 127.0.0.1, or allow it with --allow-unauthenticated`,
  )
}

/** Host and port as URLs have them. */
export function hostAndPort(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

/**
 * Whether a WebSocket may come from a page of that origin. Any page that this machine's user looks at can connect to this
 * machine, so that without a token only pages from this machine may; programs other than browsers send no origin.
 */
export function originMayConnect(origin: string | undefined, token: string): boolean {
  if (origin === undefined || token !== '') return true
  return URL.canParse(origin) && isLoopback(new URL(origin).hostname)
}
