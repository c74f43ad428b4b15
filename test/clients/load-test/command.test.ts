import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { cliOf, LOAD_TEST, serve, spawnCli } from '../cli/run-cli.js'

const directory = t.testdir()
const server = await serve(t, join(directory, 'data'))
const environment = { WARPDEX_URL: server.url }
const cli = cliOf(environment)
const loadTest = cliOf(environment, LOAD_TEST)
const SHORT = ['--records', '2k', '--warm-up', '0', '--depth', '4']

t.test('a load test of two processes, with its reports', async (t) => {
  const json = join(directory, 'reports/a.json')
  const html = join(directory, 'reports/a.html')
  const flags = [
    '--operations',
    '400',
    '--processes',
    '2',
    '--verify',
    '--seed',
    '7',
    '--json',
    json,
    '--html',
    html,
  ]
  const { code, out, err } = await loadTest(['a', ...SHORT, ...flags])
  t.equal(code, 0, err)
  t.match(out, /workload +a: YCSB A/)
  t.match(out, /adapter +SwiftShader/)
  t.match(out, /^read +\d+/m)
  t.match(out, /^update +\d+/m)
  t.match(out, /no errors\n[\d,]+ answers checked, 0 wrong/)
  t.match(err, /^warpdex-loadtest: warming up\n/)
  const report = JSON.parse(readFileSync(json, 'utf8'))
  t.match(report, {
    total: { requests: 400, items: 400 },
    setup: { seed: 7, records: 2000 },
    server: { kind: 'warpdex' },
  })
  t.match(readFileSync(html, 'utf8'), /^<!doctype html>/)
  t.match(await cli(['list', '--json']), { out: /^(?!.*loadtest)/s }, 'nothing is left')
})

t.test('one data set for several tests', async (t) => {
  const seeded = (seed: string) => [
    ...SHORT,
    '--seed',
    seed,
    '--index',
    'kept',
    '--keep',
    '--operations',
    '20',
  ]
  const keep = seeded('7')
  t.match(await loadTest(['lookup', '--batch', '10', ...keep]), { code: 0 })
  t.match(await loadTest(['c', ...keep]), { code: 2, err: /^warpdex-loadtest: INDEX_EXISTS: .*--no-load/ })
  t.match(await loadTest(['c', ...keep, '--no-load', '--verify']), { code: 0, out: /0 wrong/ })
  t.match(await loadTest(['c', ...seeded('8'), '--no-load', '--verify']), {
    code: 1,
    out: /, [1-9]\d* wrong\n {2}the key/,
  })
})

t.test('Ctrl-C ends the measurement, and what was measured is reported', async (t) => {
  const args = ['c', ...SHORT, '--duration', '60', '--processes', '2', '--url', server.url]
  const child = spawnCli({}, args, LOAD_TEST)
  let out = ''
  let err = ''
  child.stdout.on('data', (text) => {
    out += text
  })
  child.stderr.on('data', (text) => {
    err += text
    if (err.includes('requests/s')) child.kill('SIGINT')
  })
  const [code] = await once(child, 'close')
  t.equal(code, 0)
  t.match(out, /stopped before its time[\s\S]*read +[1-9]/)
})

t.test('what is wrong with a command line is said in a line', async (t) => {
  const cases: readonly (readonly [string[], RegExp])[] = [
    [['g'], /Invalid values[\s\S]*workload/],
    [['--batch', 'many'], /warpdex-loadtest: --batch is "many"; it must be a number/],
    [['--batch', '0'], /warpdex-loadtest: --batch is 0; it must be a whole number from 1/],
    [['--rate', '0'], /warpdex-loadtest: --rate is 0; it must be a number above 0/],
    [['--url', 'ws://x', '--target', 'redis://x'], /warpdex-loadtest: --url and --target/],
    [['e', '--target', 'redis://127.0.0.1:1'], /warpdex-loadtest: Redis keeps plain keys in no order/],
    [['c', '--target', 'redis://127.0.0.1:1'], /CONNECTION_LOST: no connection to redis:/],
    [['--url', 'ws://127.0.0.1:1'], /CONNECTION_LOST: no connection to ws:/],
  ]
  const outcomes = await Promise.all(cases.map(([args]) => loadTest(args)))
  outcomes.forEach((outcome, i) => {
    t.match(outcome, { code: 2, out: '', err: cases[i][1] })
    t.equal(outcome.err.trim().split('\n').length, 1, outcome.err)
  })
})

const hasRedis = spawnSync('redis-server', ['--version']).status === 0

t.test('the same on Redis', { skip: hasRedis ? false : 'no redis-server on the PATH' }, async (t) => {
  const listening = createServer().listen(0)
  await once(listening, 'listening')
  const address = listening.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  listening.close()
  const redis = spawn('redis-server', ['--port', port, '--save', '', '--dir', directory], { stdio: 'ignore' })
  t.teardown(() => redis.kill('SIGKILL'))
  await setTimeout(500)
  const flags = ['--target', `redis://127.0.0.1:${port}`, ...SHORT, '--operations', '400', '--verify']
  for (const workload of ['a', 'ingest']) {
    const outcome = await loadTest([workload, '--batch', '20', ...flags])
    t.match(outcome, { code: 0, out: /server +redis[\s\S]*no errors\n[\d,]+ answers checked, 0 wrong/ })
  }
  t.match(await loadTest(['c', ...flags, '--keep']), { code: 0 })
  t.match(await loadTest(['c', ...flags]), {
    code: 2,
    err: /INDEX_EXISTS: the Redis database has 2000 keys/,
  })
})
