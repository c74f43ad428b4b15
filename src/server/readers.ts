import type { IncomingMessage } from 'node:http'
import { isLoopback } from './binding.js'
import { sameSecret } from './secret.js'

/** Whether who sends a request may read the server's figures. */
export type MayRead = (request: IncomingMessage) => boolean

/**
 * Who has the token may. Without a token all may who can reach the server; where that is this machine only, not by a name that is
 * somebody else's: a page of any site may have its name resolved to this machine, and would then read what is shown there.
 */
export function readersWith(token: string, host: string): MayRead {
  if (token === '') return (request) => !isLoopback(host) || namesLoopback(request)
  return ({ headers: { authorization = '' } }) => {
    const given = /^Bearer +(?<token>\S+) *$/i.exec(authorization)?.groups?.token
    return given !== undefined && sameSecret(given, token)
  }
}

function namesLoopback({ headers: { host = '' } }: IncomingMessage): boolean {
  return URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname)
}
