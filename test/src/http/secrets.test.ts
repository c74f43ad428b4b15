import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { WebSocket } from 'ws'
import { openLog } from '../../../src/observe/log.js'
import { modelStructures } from '../../model-structure.js'
import { RawClient } from '../server/raw-client.js'
import { start } from '../server/start.js'

const TOKEN = 'rosebud-4711-token'
const WRONG = 'rosebud-4711-wrong'

t.test(
  'tokens, right and wrong, are in no log, metric, status or answer, wherever they are sent',
  async (t) => {
    const said: string[] = []
    const log = openLog({ level: 'debug', format: 'text', write: (line) => said.push(line) })
    const failing = new Error(`a failure that has nothing to say`)
    const structures = {
      ...modelStructures,
      create: async (...args: Parameters<typeof modelStructures.create>) => {
        const structure = await modelStructures.create(...args)
        return Object.assign(structure, { count: () => Promise.reject(failing) })
      },
    }
    const server = await start(t, { token: TOKEN }, { log, structures })
    const http = server.url.replace('ws', 'http')
    const hear = async (response: Response) => {
      said.push(await response.text())
      response.headers.forEach((value, name) => {
        said.push(`${name}: ${value}`)
      })
    }
    for (const token of [TOKEN, WRONG]) {
      for (const path of [
        '/',
        '/health',
        '/ready',
        '/metrics',
        '/status.json',
        `/${token}`,
        `/page/${token}`,
      ]) {
        await hear(
          await fetch(`${http}${path}?token=${token}`, { headers: { authorization: `Bearer ${token}` } }),
        )
        await hear(await fetch(`${http}${path}`, { method: 'POST', body: token, headers: { cookie: token } }))
        await hear(await fetch(`${http}${path}`, { headers: { 'x-token': token, authorization: token } }))
      }
      const socket = new WebSocket(`${server.url}/${token}?token=${token}`, [token], {
        headers: { authorization: `Bearer ${token}`, origin: `http://${token}.example` },
      })
      socket.on('error', (error) => said.push(error.message))
      socket.on('open', () => socket.close())
      await once(socket, 'close')
      const client = await RawClient.connect(t, `${server.url}/?token=${token}`)
      const hello = { id: 1, op: 'hello', protocol: 1, client: 'me' }
      said.push(JSON.stringify((await client.ask({ ...hello, token })).header))
      said.push(JSON.stringify((await client.ask({ ...hello, token: { token } })).header))
      said.push(JSON.stringify((await client.ask({ ...hello, protocol: 7, token })).header))
      const raw = connect(Number(new URL(http).port), '127.0.0.1').on('error', () => {})
      raw.write(`BAD ${token} HTTP/9\r\n${token}\r\n\r\n`)
      raw.on('data', (data) => said.push(String(data)))
      await once(raw, 'close')
    }
    const client = await RawClient.connect(t, server.url)
    await client.ask({ id: 1, op: 'hello', protocol: 1, client: 'me', token: TOKEN })
    await client.ask({
      id: 2,
      op: 'createIndex',
      index: 'n',
      keyType: 'u32',
      payloadKind: 'u32',
      unique: true,
    })
    const keys = { type: 'u32', bytes: new Uint8Array(4) } as const
    t.match((await client.ask({ id: 3, op: 'count', index: 'n' }, { keys })).header, {
      error: { code: 'INTERNAL' },
    })
    await hear(await fetch(`${http}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } }))
    await hear(await fetch(`${http}/status.json`, { headers: { authorization: `Bearer ${TOKEN}` } }))
    await server.close()
    const all = said.join('\n')
    t.match(all, /ready/)
    t.match(
      all,
      /ERROR a request failed: a failure that has nothing to say\n {4}Error: .*\n +at /,
      'with a stack',
    )
    t.notMatch(all, /rosebud/)
  },
)
