import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { type ClientOptions, WebSocket } from 'ws'
import { encodeFrame, PROTOCOL_VERSION } from '../../../protocol/frame.js'
import { openLog } from '../../../src/observe/log.js'
import { modelStructures } from '../../model-structure.js'
import { RawClient } from '../server/raw-client.js'
import { start } from '../server/start.js'

const TOKEN = 'rosebud-4711-token'
const WRONG = 'rosebud-4711-wrong'
const PATHS = [
  '/',
  '/health',
  '/ready',
  '/metrics',
  '/status.json',
  '/slow.json',
  '/clients.json',
  '/hour.json',
]

/** Whatever a server logs and answers. */
class Heard {
  readonly said: string[] = []
  readonly log = openLog({ level: 'debug', format: 'text', write: (line) => this.said.push(line) })

  async fetch(url: string, options: Parameters<typeof fetch>[1]): Promise<void> {
    const response = await fetch(url, options)
    this.said.push(await response.text())
    response.headers.forEach((value, name) => {
      this.said.push(`${name}: ${value}`)
    })
  }

  /** Connects if it may, sends messages, and hears the answers. */
  async talk(url: string, options: ClientOptions, protocols: string[], messages: object[]): Promise<void> {
    const socket = new WebSocket(url, protocols, options)
    let unanswered = messages.length
    socket.on('error', ({ message }) => this.said.push(message))
    socket.on('message', (data: Buffer) => {
      this.said.push(data.toString('latin1'))
      if (--unanswered === 0) socket.close()
    })
    socket.on('open', () => {
      for (const message of messages) socket.send(encodeFrame(message))
      if (messages.length === 0) socket.close()
    })
    await new Promise((resolve) => socket.on('close', resolve))
  }
}

t.test('tokens, right and wrong, are in no log and no answer, wherever they are sent', async (t) => {
  const heard = new Heard()
  const server = await start(t, { token: TOKEN }, { log: heard.log })
  const http = server.url.replace('ws', 'http')
  for (const token of [TOKEN, WRONG]) {
    const authorization = `Bearer ${token}`
    for (const path of [...PATHS, `/${token}`, `/page/${token}`]) {
      await heard.fetch(`${http}${path}?token=${token}`, { headers: { authorization } })
      await heard.fetch(`${http}${path}`, { method: 'POST', body: token, headers: { cookie: token } })
      await heard.fetch(`${http}${path}`, { headers: { 'x-token': token, authorization: token } })
    }
    const hello = { id: 1, op: 'hello', protocol: PROTOCOL_VERSION, client: 'me' }
    const hellos = [
      { ...hello, token },
      { ...hello, token: { token } },
      { ...hello, protocol: 7, token },
    ]
    const headers = { authorization, origin: `http://${token}.example` }
    await heard.talk(`${server.url}/${token}?token=${token}`, { headers }, [token], [])
    await heard.talk(`${server.url}/?token=${token}`, { headers: { authorization } }, [], hellos)
    await heard.talk(server.url, {}, [], hellos)
    const raw = connect(Number(new URL(http).port), '127.0.0.1')
    raw.on('data', (data) => heard.said.push(String(data)))
    raw.write(`BAD ${token} HTTP/9\r\n${token}\r\n\r\n`)
    await once(raw, 'close')
  }
  await server.close()
  const all = heard.said.join('\n')
  t.match(all, /INFO {2}stopped/)
  t.match(all, /warpdex_requests_total/, 'the right token opens what it should')
  t.notMatch(all, /rosebud/)
})

t.test('errors that are nobody else’s are logged with their place, others are not', async (t) => {
  const heard = new Heard()
  const create = async (...args: Parameters<typeof modelStructures.create>) => {
    const count = () => Promise.reject(new Error('the cat is on the keyboard'))
    return Object.assign(await modelStructures.create(...args), { count })
  }
  const { url } = await start(t, {}, { log: heard.log, structures: { ...modelStructures, create } })
  const client = await RawClient.connect(t, url)
  const index = { index: 'rosebud', keyType: 'u32', payloadKind: 'u32', unique: true }
  await client.ask({ id: 1, op: 'createIndex', ...index })
  const keys = { type: 'u32', bytes: new Uint8Array(4) } as const
  const failed = await client.ask({ id: 2, op: 'count', index: 'rosebud' }, { keys })
  t.match(failed.header, { error: { code: 'INTERNAL' } })
  await client.ask({ id: 3, op: 'createIndex', ...index })
  await client.ask({ id: 4, op: 'dance' })
  const lines = heard.said.filter((line) => !line.includes(' INFO '))
  t.match(lines, [/ERROR a request failed: the cat is on the keyboard\n {4}Error: the cat.*\n +at /])
  t.equal(lines.length, 1)
})
