import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LIMITS } from '../../../protocol/limits.js'
import { loadConfig } from '../../../src/config/load.js'
import { SETTINGS } from '../../../src/config/settings.js'
import { backpressureLimits } from '../../../src/server/backpressure/backpressure-limits.js'

const file = join(t.testdir(), 'warpdex.json')

t.test('defaults, file, environment and flags, a later one wins', async (t) => {
  t.equal(loadConfig().port, SETTINGS.port.fallback)
  writeFileSync(file, JSON.stringify({ port: 1, host: 'file', directory: 'file', token: 'file' }))
  const environment = { WARPDEX_PORT: '2', WARPDEX_HOST: 'environment', PATH: '/bin' }
  const config = loadConfig({ file, environment, flags: { port: 3, adapter: undefined } })
  t.equal(loadConfig({ flags: { recalibrate: true } }).recalibrate, true)
  t.match(config, { port: 3, host: 'environment', directory: 'file', token: 'file', adapter: 'auto' })
})

t.test('the environment names the file, and texts stand for numbers and booleans', async (t) => {
  writeFileSync(file, JSON.stringify({ host: 'file' }))
  const environment = {
    WARPDEX_CONFIG: file,
    WARPDEX_URL: 'ws://elsewhere',
    WARPDEX_SNAPSHOT_LOG_BYTES: '2097152',
    WARPDEX_DEVICE_MEMORY: '0',
    WARPDEX_QUERY_MEMORY: '4194304',
    WARPDEX_ALLOW_UNAUTHENTICATED: 'true',
  }
  t.match(loadConfig({ environment }), {
    host: 'file',
    snapshotLogBytes: 2097152,
    deviceMemory: 0,
    queryMemory: 4194304,
    queryMemoryInAll: 0,
    recalibrate: false,
    allowUnauthenticated: true,
  })
})

t.test('unknown settings are refused, naming the right ones', async (t) => {
  const refused = (sources: Parameters<typeof loadConfig>[0], message: RegExp) =>
    t.throws(() => loadConfig(sources), { code: 'BAD_REQUEST', message })
  refused({ flags: { prot: 1 } }, /unknown flag prot; use one of .*--port.*--allow-unauthenticated/)
  writeFileSync(file, '{"prot": 1}')
  refused({ file }, /unknown setting in .*warpdex.json prot; use one of .*snapshotLogBytes/)
})

t.test('unknown variables are warned of, and what Kubernetes sets for a Service is no setting', async (t) => {
  const warnings: string[] = []
  const onWarning = (message: string) => warnings.push(message)
  const links = {
    WARPDEX_SERVICE_HOST: '10.0.0.1',
    WARPDEX_SERVICE_PORT: '7070',
    WARPDEX_SERVICE_PORT_WEB_SOCKET: '7070',
    WARPDEX_PORT: 'tcp://10.0.0.1:7070',
    WARPDEX_PORT_7070_TCP: 'tcp://10.0.0.1:7070',
    WARPDEX_PORT_7070_TCP_PROTO: 'tcp',
    WARPDEX_PORT_7070_TCP_PORT: '7070',
    WARPDEX_PORT_7070_TCP_ADDR: '10.0.0.1',
  }
  const environment = { ...links, WARPDEX_TOKEN: 'tcp://secret', WARPDEX_PROT: '1', WARPDEX_URL: 'ws://a' }
  const { port, token } = loadConfig({ environment, onWarning })
  t.same([port, token], [SETTINGS.port.fallback, 'tcp://secret'])
  t.equal(warnings.length, 2)
  t.match(warnings[0], `ignored ${Object.keys(links).join(', ')}, which Kubernetes sets`)
  t.match(warnings[1], /ignored WARPDEX_PROT, which the server does not know; "warpdex serve --help" names/)
  t.notMatch(warnings.join(), 'secret')
  t.equal(loadConfig({ environment, flags: { port: 3 } }).port, 3)
})

t.test('sizes may have a unit, in a file too', async (t) => {
  const file = join(t.testdir({ 'sizes.json': '{"feedBytes": "2G", "queryMemory": 4194304}' }), 'sizes.json')
  const flags = { payloadCacheBytes: '256M', maxReplyBytes: '1gib', deviceMemory: '0' }
  t.match(loadConfig({ flags, file, environment: { WARPDEX_MAX_BYTES_IN_ALL: '2048k' } }), {
    payloadCacheBytes: 2 ** 28,
    maxReplyBytes: 2 ** 30,
    deviceMemory: 0,
    maxBytesInAll: 2 ** 21,
    feedBytes: 2 ** 31,
    queryMemory: 2 ** 22,
  })
  t.throws(() => loadConfig({ flags: { payloadCacheBytes: '12Q' } }), {
    message: /is "12Q"; it must be a number of bytes/,
  })
})

t.test('values of a wrong kind are refused, saying what is right', async (t) => {
  const refused = (sources: Parameters<typeof loadConfig>[0], message: RegExp) =>
    t.throws(() => loadConfig(sources), { code: 'BAD_REQUEST', message })
  refused({ flags: { port: 65536 } }, /flag --port is 65536; it must be a whole number from 0 to 65535/)
  refused({ flags: { directory: '' } }, /--directory is ""; it must be a text that is not empty/)
  refused({ environment: { WARPDEX_PORT: 'http' } }, /WARPDEX_PORT is "http"/)
  refused(
    { flags: { deviceMemory: 1000 } },
    /--device-memory is 1000; it must be 0 or a number of bytes from 1M to 1024T/,
  )
  refused(
    { flags: { queryMemory: 1000 } },
    /--query-memory is 1000; it must be a number of bytes from 1M to 1024T, such as 4194304 or 4M/,
  )
  refused(
    { flags: { queryMemoryInAll: 1000 } },
    /--query-memory-in-all is 1000; it must be 0 or a number of bytes/,
  )
  refused({ environment: { WARPDEX_ADAPTER: 'cuda' } }, /must be auto, hardware or software/)
  refused({ environment: { WARPDEX_ALLOW_UNAUTHENTICATED: 'yes' } }, /must be true or false/)
  refused(
    { environment: { WARPDEX_RECALIBRATE: '1' } },
    /WARPDEX_RECALIBRATE is "1"; it must be true or false/,
  )
  writeFileSync(file, '{"port": "7000"}')
  refused({ file }, /port is "7000"/)
  writeFileSync(file, '[]')
  refused({ file }, /must hold one JSON object/)
  writeFileSync(file, '{')
  refused({ file }, /cannot be read/)
  refused({ file: join(t.testdir(), 'none.json') }, /cannot be read/)
})

t.test('a token is never shown', async (t) => {
  t.throws(() => loadConfig({ flags: { token: 1234567 } }), { message: /^(?!.*1234567)/ })
})

t.test('limits of clients are settings, by default those of the protocol', async (t) => {
  const limits = backpressureLimits(loadConfig())
  for (const [name, value] of Object.entries(limits))
    t.equal(value, Object.entries(LIMITS).find(([key]) => key === name)?.[1], name)
  const environment = { WARPDEX_MAX_BYTES_IN_ALL: '2097152', WARPDEX_STALL_SECONDS: '5' }
  const config = loadConfig({ environment, flags: { maxRequestsInFlight: '7' } })
  t.match(backpressureLimits(config), { bytesInAll: 2097152, stallSeconds: 5, requestsInFlight: 7 })
  t.throws(() => loadConfig({ flags: { maxReplyBytes: LIMITS.frameBytes - 1 } }), {
    message: /--max-reply-bytes is/,
  })
  t.throws(() => loadConfig({ flags: { shutdownSeconds: 0 } }), { message: /--shutdown-seconds is 0/ })
})
