import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'

/** Names of a page of a listing: few, so that clients have to go on. */
const PAGE = 2
const ENVIRONMENT = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_REGION: 'here' }

/** The part of S3 that snapshots need, in memory; checks no signatures. Until the test is over the environment names it. */
export class S3Server {
  readonly objects = new Map<string, Buffer>()

  static async start(t: Test): Promise<S3Server> {
    const s3 = new S3Server()
    const server = createServer((request, response) => void s3.#answer(request, response))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const AWS_ENDPOINT_URL_S3 = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const set = Object.entries({ ...ENVIRONMENT, AWS_ENDPOINT_URL_S3 })
    for (const [name, value] of set) process.env[name] = value
    t.teardown(() => {
      for (const [name] of set) delete process.env[name]
      server.closeAllConnections()
      server.close()
    })
    return s3
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://s3')
    const name = decodeURIComponent(pathname)
    if (request.method === 'PUT') this.objects.set(name, await buffer(request))
    if (request.method === 'DELETE') this.objects.delete(name)
    if (request.method !== 'GET') response.end()
    else if (searchParams.get('list-type') === '2') response.end(this.#list(name, searchParams))
    else {
      const bytes = this.objects.get(name)
      if (bytes === undefined) response.statusCode = 404
      response.end(bytes ?? '<Error><Code>NoSuchKey</Code></Error>')
    }
  }

  #list(bucket: string, query: URLSearchParams): string {
    const from = Number(query.get('continuation-token') ?? 0)
    const start = `${bucket.replace(/\/$/, '')}/`
    const keys = [...this.objects.keys()].map((name) => name.slice(start.length)).sort()
    const found = keys.filter((key) => key.startsWith(query.get('prefix') ?? ''))
    const page = found.slice(from, from + PAGE).map((key) => `<Contents><Key>${key}</Key></Contents>`)
    const next = from + PAGE
    const more =
      next < found.length
        ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`
        : ''
    return `<ListBucketResult>${page.join('')}${more}</ListBucketResult>`
  }
}
