import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { makeCertificate } from '../../src/server/certificates.js'
import { cliOf, serve } from './run-cli.js'

const directory = t.testdir()

t.test('a server with TLS and tokens, from making them to taking one away', async (t) => {
  const cli = cliOf({})
  const make = async (...args: string[]) => JSON.parse((await cli(['token', ...args, '--json'])).out)
  const [operator, reader, shown, ...refused] = await Promise.all([
    make('operator', '--admin'),
    make('reader', '--index', 'a-*', '--index', 'b', '--allow', 'read,stats'),
    cli(['token', 'x', '--index', '*', '--allow', 'read']),
    cli(['token', 'x', '--admin', '--allow', 'read']),
    cli(['token', 'x', '--index', 'a', '--allow', 'fly']),
  ])
  t.match(reader.entry, {
    name: 'reader',
    rights: [{ index: 'a-*' }, { index: 'b', allow: ['read', 'stats'] }],
  })
  t.notMatch(JSON.stringify(reader.entry), reader.token)
  t.match(shown.out, /^ {2}warpdex_[\w-]{43}$[\s\S]*^ {2}\{"name":"x","sha256":/m)
  for (const outcome of refused) t.match(outcome, { code: 2, out: '', err: /warpdex: / })

  const tokens = join(directory, 'tokens.json')
  const keep = (...made: { readonly entry: object }[]) =>
    writeFileSync(tokens, JSON.stringify({ tokens: made.map(({ entry }) => entry) }), { mode: 0o600 })
  keep(operator, reader)
  const { tlsCert, tlsKey } = await makeCertificate(directory, 'cli')
  const environment = { WARPDEX_TOKENS: tokens, WARPDEX_TLS_CERT: tlsCert, WARPDEX_TLS_KEY: tlsKey }
  const server = await serve(t, join(directory, 'data'), environment, ['--token', 'hush-hush'])
  t.match(server.banner, /address +wss:.*clients need a token[\s\S]*health +https:/)
  t.notMatch(server.banner, /hush/)
  if (process.platform === 'linux') {
    t.notMatch(readFileSync(`/proc/${server.pid}/cmdline`, 'latin1'), /hush/, 'other users do not see it')
  }
  const address = { WARPDEX_URL: server.url, WARPDEX_CA: tlsCert }
  const as = (token: string) => cliOf({ ...address, WARPDEX_TOKEN: token })
  t.match(await as('hush-hush')(['create', 'b', '--key', 'u32', '--payload', 'u32']), { code: 0 })
  const outcomes = await Promise.all([
    as(reader.token)(['get', 'b', '1']),
    as(reader.token)(['put', 'b', '1', '1']),
    as(operator.token)(['put', 'b', '2', '1']),
    cliOf(address)(['list']),
    cli(['list', '--url', server.url]),
    cli(['list', '--ca', join(directory, 'none')]),
  ])
  t.match(outcomes, [
    { code: 1, err: '' },
    { code: 2, err: /UNAUTHORISED: .*needs the right "write" on "b"; the token "reader" lacks it/ },
    { code: 0 },
    { code: 2, err: /UNAUTHORISED: .*needs a token; set WARPDEX_TOKEN/ },
    { code: 2, err: /self-signed.*--ca FILE/ },
    { code: 2, err: /none cannot be read/ },
  ])

  keep(reader)
  process.kill(server.pid, 'SIGHUP')
  let outcome = await as(operator.token)(['list'])
  for (let i = 0; outcome.code === 0 && i < 100; i++) {
    await setTimeout(50)
    outcome = await as(operator.token)(['list'])
  }
  t.match(outcome, { code: 2, err: /UNAUTHORISED: .*does not know the token/ })
  t.same(await server.stop('SIGTERM'), [0, null])
})
