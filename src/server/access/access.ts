import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { subprotocolToken } from '../../../protocol/bearer.js'
import type { SiteRequest } from '../../http/answer.js'
import { isLoopback, originMayConnect } from '../binding.js'
import { type Grant, Rights } from './rights.js'
import { digestOf, type KnownToken, readTokenFile } from './token-file.js'

type Headed = Pick<SiteRequest, 'headers'>

const ANYONE: Grant = { who: 'anyone', rights: Rights.all }

/** Who may come in, and what for. */
export class Access {
  readonly #token: string
  readonly #file: string
  readonly #host: string
  #known: readonly KnownToken[]

  /**
   * @param options `token` has all rights, `tokens` is the path of a file of more; both may be empty. `host` is what the server
   * listens on
   * @throws WarpdexError `BAD_REQUEST` when the file cannot be used
   */
  constructor({
    token,
    tokens,
    host,
  }: { readonly token: string; readonly tokens: string; readonly host: string }) {
    this.#token = token
    this.#file = tokens
    this.#host = host
    this.#known = this.#read()
  }

  /** Whether nobody comes in without a token. */
  get guarded(): boolean {
    return this.#known.length > 0
  }

  /**
   * Reads the file again. Those who are in have the rights that it gives them now.
   * @throws WarpdexError `BAD_REQUEST`; then all stays as it was
   */
  reload(): void {
    this.#known = this.#read()
  }

  /** Decides about a WebSocket, by its token and origin, before anything that it sends is read. */
  admit(request: Headed): Grant | 401 | 403 {
    if (!originMayConnect(request.headers.origin, this.guarded)) return 403
    return this.#grant(request) ?? 401
  }

  /** Whether an HTTP request may see figures of all indexes. */
  mayRead(request: Headed): boolean {
    if (!this.isOwnName(request)) return false
    return this.#grant(request)?.rights.mayEverywhere('stats') ?? false
  }

  /** Whether an HTTP request calls the server by a name of its machine: without tokens a page of another site must not, which may call itself by any address. */
  isOwnName(request: Headed): boolean {
    return this.guarded || !isLoopback(this.#host) || isLoopback(hostName(request))
  }

  #grant({ headers }: Headed): Grant | undefined {
    if (!this.guarded) return ANYONE
    const token = bearerToken(headers)
    const known = token === undefined ? undefined : this.#find(digestOf(token))
    if (known === undefined) return undefined
    const { name, digest } = known
    const current = () => this.#find(digest)?.rights ?? Rights.none
    return {
      who: `the token "${name}"`,
      token: name,
      get rights() {
        return current()
      },
    }
  }

  /** Compares with every token, in a time that tells neither which is equal nor how much of one is. */
  #find(digest: Buffer): KnownToken | undefined {
    let found: KnownToken | undefined
    for (const known of this.#known) if (timingSafeEqual(known.digest, digest)) found = known
    return found
  }

  #read(): readonly KnownToken[] {
    const single = { name: '--token', digest: digestOf(this.#token), rights: Rights.all }
    return [...(this.#token === '' ? [] : [single]), ...(this.#file === '' ? [] : readTokenFile(this.#file))]
  }
}

/** The token that a request brings. */
export function bearerToken(headers: IncomingHttpHeaders): string | undefined {
  const { authorization, 'sec-websocket-protocol': subprotocols } = headers
  if (authorization !== undefined) return /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  return subprotocols === undefined ? undefined : subprotocolToken(subprotocols)
}

/** What a request takes this machine's name to be: a page of another site that calls itself by this address has its own name. */
function hostName({ headers }: Headed): string {
  const url = `http://${headers.host ?? ''}`
  return URL.canParse(url) ? new URL(url).hostname : ''
}
