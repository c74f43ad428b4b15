import { isIPv6 } from 'node:net'
import { badRequest } from '../../protocol/errors.js'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i

/**
 * Refuses to let strangers in by accident.
 *
 * @param guarded whether clients need a token
 * @throws WarpdexError `BAD_REQUEST` for an address beyond this machine without a token, unless that is allowed explicitly
 */
export function checkBinding(host: string, guarded: boolean, allowUnauthenticated: boolean): void {
  if (isLoopback(host) || guarded || allowUnauthenticated) return
  throw badRequest(
    `${host} can be reached from other machines, and no token is set: anyone could read and write; set a token, listen on 127.0.0.1, or allow it with --allow-unauthenticated`,
  )
}

/** Whether a name or address is of this machine and cannot be reached from others. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host.replace(/^\[|\]$/g, ''))
}

/** Host and port as URLs have them. */
export function hostAndPort(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

/**
 * Whether a WebSocket may come from a page of that origin. Any page that this machine's user looks at can connect to this
 * machine, so that without a token only pages from this machine may; programs other than browsers send no origin.
 */
export function originMayConnect(origin: string | undefined, guarded: boolean): boolean {
  if (origin === undefined || guarded) return true
  return URL.canParse(origin) && isLoopback(new URL(origin).hostname)
}
