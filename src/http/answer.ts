import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'

/** What a request is answered with. */
export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** What is looked at of a request. */
export interface SiteRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** Answers requests for one path. */
export type Route = (request: SiteRequest) => Answer | Promise<Answer>

/** How long a client may take over a request, or over taking its answer. */
const SLOWEST_MS = 10_000

/** Pages may load what this server has and nothing else, run no code that stands in them, and be shown in no other page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const SECURITY_HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

export function json(status: number, value: object, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n`, headers }
}

/** Sends an answer; the body of one to HEAD is left out. A request's own body is not read: whoever sends one is hung up on. */
export function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const { socket, method, headers } = request
  // Node ends a connection on which nothing has moved for as long.
  socket.setTimeout(SLOWEST_MS)
  const body = Buffer.from(answer.body)
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
  response.writeHead(answer.status, {
    // Who has it already is told nothing of it.
    ...(answer.status === 304 ? {} : { 'content-type': answer.type, 'content-length': body.byteLength }),
    'cache-control': 'no-store',
    ...SECURITY_HEADERS,
    ...answer.headers,
    ...(hasBody ? { connection: 'close' } : {}),
  })
  if (hasBody) response.once('finish', () => socket.destroySoon())
  if (method === 'HEAD') response.end()
  else response.end(body)
}
