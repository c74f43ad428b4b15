import { join } from 'node:path'
import t from 'tap'
import { loadConfig, startServer } from '../../../src/server/index.js'
import { makeCertificate } from '../../src/server/certificates.js'
import { start } from '../../src/server/start.js'
import { Chromium, NO_CHROMIUM } from './chromium.js'
import { PageServer } from './page-server.js'

const PAGE_SECONDS = 60

t.test('the client in a browser', { skip: NO_CHROMIUM }, async (t) => {
  const config = loadConfig({ flags: { port: 0, directory: t.testdir(), adapter: 'software' } })
  const server = await startServer(config)
  const pages = new PageServer()
  await pages.start()
  t.teardown(async () => {
    await pages.stop()
    await server.close()
  })
  const chromium = await Chromium.open()

  await t.test('a page of this machine has all that programs in Node have', async (t) => {
    const page = pages.page('127.0.0.1', server.url)
    const { origin, error, result } = await chromium.show(page, pages.outcome(), PAGE_SECONDS)
    t.equal(error, undefined)
    t.match(origin, /^http:\/\/127\.0\.0\.1:\d+$/)
    t.strictSame(result, {
      software: true,
      codes: [0, 0, 0],
      got: ['sieben', null, 'groß'],
      singles: ['sieben', null],
      scanned: ['18446744073709551615 groß', '7 seven', '7 sieben'],
      ranges: ['0 sieben', '0 seven'],
      written: [0, 0, 2, 4],
      count: 100_000,
      refusal: 'UNKNOWN_INDEX',
    })
  })

  await t.test('a page of another site is let in only with a token', async (t) => {
    const flags = ['--host-resolver-rules=MAP stranger.example 127.0.0.1']
    const guarded = await start(t, { token: 'secret' })
    for (const [{ url }, token, outcome] of [
      [server, undefined, { error: { code: 'CONNECTION_LOST' } }],
      [guarded, 'guess', { error: { code: 'CONNECTION_LOST' } }],
      [guarded, 'secret', { error: undefined, result: { software: true } }],
    ] as const) {
      const page = pages.page('stranger.example', url, token)
      const { origin, ...shown } = await chromium.show(page, pages.outcome(), PAGE_SECONDS, flags)
      t.match(origin, /^http:\/\/stranger\.example:\d+$/)
      t.match(shown, outcome)
    }
  })

  await t.test('a page of another site that came over TLS', async (t) => {
    // The browser does not know who vouches for it.
    const flags = ['--host-resolver-rules=MAP *.example 127.0.0.1', '--ignore-certificate-errors']
    const folder = t.testdir({ data: {} })
    const certificate = await makeCertificate(folder, 'server')
    const secure = new PageServer(certificate)
    await secure.start()
    t.teardown(() => secure.stop())
    const guarded = await start(t, { token: 'secret', directory: join(folder, 'data'), ...certificate })
    const { port } = new URL(guarded.url)
    for (const [scheme, outcome] of [
      ['wss', { error: undefined, result: { software: true } }],
      ['ws', { error: { code: 'BAD_REQUEST', message: /over https, .* wss:/ } }],
    ] as const) {
      const page = secure.page('stranger.example', `${scheme}://data.example:${port}`, 'secret')
      const { origin, ...shown } = await chromium.show(page, secure.outcome(), PAGE_SECONDS, flags)
      t.match(origin, /^https:\/\/stranger\.example:\d+$/)
      t.match(shown, outcome)
    }
  })
})
