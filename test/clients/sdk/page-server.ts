import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { COMPILED, ROOT } from '../../compiled.js'
import type { CertificateFiles } from '../../src/server/certificates.js'

const PAGE_MODULE = '/dist/test/clients/sdk/page.js'

/** What a page says in the end: its result, or why it has none. */
export interface Outcome {
  readonly origin: string
  readonly result?: unknown
  readonly error?: { readonly code: string | undefined; readonly message: string }
}

/**
 * Serves a page that runs `page.ts` with the client's modules, compiled as they are asked for, where bundlers find them: at
 * the paths that the package has them at, with package.json's `browser` mapping applied.
 */
export class PageServer {
  readonly #http: Server
  readonly #scheme: 'http' | 'https'
  #onOutcome: (outcome: Outcome) => void = () => {}

  /** @param tls the page comes over TLS, by this certificate */
  constructor(tls?: CertificateFiles) {
    const answer: RequestListener = (request, response) => {
      this.#answer(request).then(
        ({ type, body }) => {
          const headers = { 'content-type': type, 'content-security-policy': policyOf(request) }
          response.writeHead(200, headers).end(body)
        },
        (error: unknown) => response.writeHead(404).end(String(error)),
      )
    }
    this.#scheme = tls === undefined ? 'http' : 'https'
    this.#http =
      tls === undefined
        ? createServer(answer)
        : createSecureServer({ cert: readFileSync(tls.tlsCert), key: readFileSync(tls.tlsKey) }, answer)
  }

  async start(): Promise<void> {
    this.#http.listen(0, '127.0.0.1')
    await once(this.#http, 'listening')
  }

  async stop(): Promise<void> {
    const closed = once(this.#http, 'close')
    this.#http.close()
    this.#http.closeAllConnections()
    await closed
  }

  /** Where the page is for a browser to which this machine has the given name; it connects to the server at `url`. */
  page(host: string, url: string, token?: string): string {
    const { port } = this.#http.address() as AddressInfo
    const shown = token === undefined ? '' : `&token=${token}`
    return `${this.#scheme}://${host}:${port}/?server=${encodeURIComponent(url)}${shown}`
  }

  /** What the next page says. */
  outcome(): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#onOutcome = resolve
    })
  }

  async #answer(request: IncomingMessage): Promise<{ readonly type: string; readonly body: string }> {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname === '/outcome') {
      this.#onOutcome(JSON.parse(await text(request)) as Outcome)
      return { type: 'text/plain', body: '' }
    }
    if (pathname === '/') return { type: 'text/html', body: html() }
    return { type: 'text/javascript', body: moduleText(pathname) }
  }
}

/** Pages of careful sites forbid code that is made of strings, and name whom they connect to: the client must do with that. */
function policyOf({ url = '/' }: IncomingMessage): string {
  const server = new URL(url, 'http://localhost').searchParams.get('server') ?? ''
  return `script-src 'self' 'unsafe-inline'; connect-src 'self' ${server}`
}

function moduleText(path: string): string {
  const source = /^\/dist\/(?<file>(clients|protocol|test)\/.*)\.js$/.exec(path)?.groups?.file
  if (source === undefined) throw new Error(`${path} is nothing that a page needs`)
  return readFileSync(join(COMPILED, `${source}.js`), 'utf8')
}

/** The rules that a bundler for browsers would go by. */
function importMap(): object {
  // A test takes for granted what it needs.
  const { browser } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly browser: Readonly<Record<string, string>>
  }
  const mapping = Object.entries(browser).map(([from, to]) => [from.slice(1), to.slice(1)])
  return { imports: Object.fromEntries(mapping) }
}

function html(): string {
  return `<!doctype html>
<script type="importmap">${JSON.stringify(importMap())}</script>
<script type="module">
  const given = new URLSearchParams(location.search)
  const outcome = await import('${PAGE_MODULE}')
    .then(({ run }) => run(given.get('server'), given.get('token') ?? undefined))
    .then((result) => ({ result }), (error) => ({ error: { code: error.code, message: String(error.stack) } }))
  await fetch('/outcome', { method: 'POST', body: JSON.stringify({ origin: location.origin, ...outcome }) })
</script>
`
}
