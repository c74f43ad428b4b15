import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { WebSocket } from 'ws'
import { Device } from '../../../gpu/device/device.js'
import { openLog } from '../../../src/observe/log.js'
import { modelStructures } from '../../model-structure.js'
import { separateDevices } from '../../separate-devices.js'
import { RawClient } from '../server/raw-client.js'
import { start } from '../server/start.js'

separateDevices()

const TOKEN = 'rosebud-4711'
const GUARDED = ['/metrics', '/status.json', '/slow.json', '/clients.json', '/hour.json']
const OPEN = ['/health', '/ready']

const http = (url: string) => url.replace('ws', 'http')
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

t.test('paths, methods and headers', async (t) => {
  const url = http((await start(t)).url)
  for (const path of [...OPEN, ...GUARDED]) {
    const got = await fetch(url + path)
    t.equal(got.status, 200, path)
    const head = await fetch(url + path, { method: 'HEAD' })
    t.equal(head.status, 200)
    t.equal(await head.text(), '')
    t.ok(Number(head.headers.get('content-length')) > 0)
    const policy = got.headers.get('content-security-policy') ?? ''
    t.match(policy, /default-src 'none'/)
    t.notMatch(policy, /unsafe/)
    t.equal(got.headers.get('x-content-type-options'), 'nosniff')
    t.equal(got.headers.get('access-control-allow-origin'), null)
    await got.text()
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const refused = await fetch(url + path, { method })
      t.same([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'], `${method} ${path}`)
      await refused.text()
    }
  }
  const unknown = await fetch(`${url}/secret?token=${TOKEN}`)
  t.equal(unknown.status, 404)
  const { error } = (await unknown.json()) as { error: string }
  t.match(error, /\/health, \/ready, \/metrics, \/status\.json/)
  t.notMatch(error, TOKEN)
})

t.test('a body is not read', async (t) => {
  const { port } = new URL(http((await start(t)).url))
  const socket = connect(Number(port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(`POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${2 ** 40}\r\n\r\nsome of it`)
  const [answer] = await once(socket, 'data')
  await once(socket, 'close')
  t.match(String(answer), /^HTTP\/1\.1 405 .*Connection: close/is)
})

t.test('where there is a token, it is asked for', async (t) => {
  const url = http((await start(t, { token: TOKEN })).url)
  for (const path of OPEN) t.equal((await fetch(url + path)).status, 200, path)
  for (const path of GUARDED) {
    const refused = await fetch(url + path)
    t.same([refused.status, refused.headers.get('www-authenticate')], [401, 'Bearer realm="warpdex"'])
    t.equal((await fetch(url + path, bearer('wrong'))).status, 401)
    t.equal((await fetch(url + path, { headers: { authorization: TOKEN } })).status, 401)
    t.equal((await fetch(`${url}${path}?token=${TOKEN}`)).status, 401, 'in the address it does not count')
    t.equal((await fetch(url + path, bearer(TOKEN))).status, 200)
  }
})

t.test('without a token, a name that is not of this machine reads nothing', async (t) => {
  const { port } = new URL(http((await start(t)).url))
  const ask = async (host: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.write(`GET /status.json HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    return String((await once(socket, 'data'))[0]).slice(0, 12)
  }
  t.equal(await ask(`127.0.0.1:${port}`), 'HTTP/1.1 200')
  t.equal(await ask('localhost'), 'HTTP/1.1 200')
  t.equal(await ask('rebound.example'), 'HTTP/1.1 403')
})

t.test('readiness follows the server: starting, ready, device lost, stopping', async (t) => {
  let letOpen: () => void = () => {}
  const opening = new Promise<void>((resolve) => {
    letOpen = resolve
  })
  const lines: string[] = []
  const log = openLog({ level: 'info', format: 'json', write: (line) => lines.push(line) })
  let device: Device | undefined
  let mayReplace: Promise<void> = Promise.resolve()
  const openDevice = async () => {
    await opening
    await mayReplace
    device = await Device.open('software')
    return device
  }
  const starting = start(t, {}, { log, openDevice, structures: modelStructures })
  while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const { port } = JSON.parse(lines[0]) as { port: number }
  const probe = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return [response.status, (await response.json()) as object] as const
  }
  t.match(await probe('/health'), [200, { status: 'starting' }])
  t.match(await probe('/ready'), [503, { ready: false, reason: /starting/ }])
  t.match(await probe('/status.json'), [200, { status: 'starting', indexes: { length: 0 } }])
  for (let i = 0; i < 3; i++) {
    const early = new WebSocket(`ws://127.0.0.1:${port}/?token=${TOKEN}`)
    t.match((await once(early, 'error'))[0], { message: /503/ })
  }
  letOpen()
  const server = await starting
  t.match(await probe('/health'), [200, { status: 'ready' }])
  t.match(await probe('/ready'), [200, { ready: true }])

  let letReplace: () => void = () => {}
  mayReplace = new Promise((resolve) => {
    letReplace = resolve
  })
  device?.gpu.destroy()
  while ((await probe('/ready'))[0] === 200) await new Promise((resolve) => setTimeout(resolve, 5))
  t.match(await probe('/ready'), [503, { status: 'ready', reason: /device was lost/ }])
  t.match(await probe('/health'), [200, { status: 'ready' }])
  letReplace()
  while ((await probe('/ready'))[0] === 503) await new Promise((resolve) => setTimeout(resolve, 5))
  t.match(await probe('/status.json'), [200, { notices: [{ message: /lost/ }], events: { deviceLoss: 1 } }])

  const client = await RawClient.connect(t, server.url)
  client.socket.pause()
  const closing = server.close()
  t.match(await probe('/health'), [200, { status: 'stopping' }])
  t.match(await probe('/ready'), [503, { ready: false, reason: /shutting down/ }])
  client.socket.resume()
  await closing
  const said = lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
  t.match(said, [/listening/, /refused/, /ready/, /lost/, /stopping/, /stopped/])
  t.notMatch(lines.join(''), TOKEN)
  t.match(lines[1], /"status":503/)
})
