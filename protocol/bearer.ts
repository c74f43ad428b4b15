import { badRequest } from './errors.js'

/** The WebSocket subprotocol that the server chooses where a client offers any. */
export const SUBPROTOCOL = 'warpdex'

/** Begins the subprotocol by which browsers, which cannot set headers, bring a token: base64url of the token follows. */
const BEARER_PREFIX = `${SUBPROTOCOL}.bearer.`

const TOKEN = /^[\x21-\x7e]{1,512}$/

/** Whether a text can be sent as a token: 1 to 512 printable ASCII characters without blanks. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/** @throws WarpdexError `BAD_REQUEST`, which does not quote it */
export function checkToken(text: string): string {
  if (isToken(text)) return text
  throw badRequest('a token has 1 to 512 printable ASCII characters and no blanks; "warpdex token" makes one')
}

/** What a browser offers as subprotocols to bring a token. */
export function tokenSubprotocols(token: string): string[] {
  const base64 = btoa(token).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  return [SUBPROTOCOL, BEARER_PREFIX + base64]
}

/** The token that is among offered subprotocols, as the header lists them; undefined where there is none. */
export function subprotocolToken(header: string): string | undefined {
  const offers = header.split(',').map((offer) => offer.trim())
  const offer = offers.find((candidate) => candidate.startsWith(BEARER_PREFIX))
  if (offer === undefined) return undefined
  try {
    return atob(offer.slice(BEARER_PREFIX.length).replaceAll('-', '+').replaceAll('_', '/'))
  } catch {
    return undefined
  }
}
