import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { WebSocketServer } from 'ws'
import { connect } from '../../../clients/sdk/index.js'
import { encodeFrame, PROTOCOL_VERSION } from '../../../protocol/frame.js'
import { LIMITS } from '../../../protocol/limits.js'
import { readRequest } from '../../../protocol/messages.js'

t.test(
  'a server is reached by the path of a Unix socket',
  { skip: process.platform === 'win32' },
  async (t) => {
    // A socket's path must be short.
    const folder = await mkdtemp(join(tmpdir(), 'warpdex-'))
    const path = join(folder, 'a b:c.sock')
    const server = createServer()
    new WebSocketServer({ server }).on('connection', (socket) =>
      socket.on('message', (data: Buffer) => {
        const { id } = readRequest(data)
        const adapter = { name: 'none', software: true }
        const fields = { server: 'unix', protocol: PROTOCOL_VERSION, adapter, limits: LIMITS, indexes: [] }
        socket.send(encodeFrame({ id, ok: true, ...fields }))
      }),
    )
    await new Promise<void>((resolve) => server.listen(path, resolve))
    t.teardown(async () => {
      server.close()
      await rm(folder, { recursive: true })
    })
    for (const url of [`ws+unix:${path}`, `ws+unix:${path}:/`, `ws+unix://${path}`]) {
      const client = await connect(url, { token: 'secret' })
      t.equal(client.server.server, 'unix')
      t.strictSame(await client.listIndexes(), [])
      await client.close()
    }
    await t.rejects(connect(`ws+unix:${path}.gone`), {
      code: 'CONNECTION_LOST',
      message: /ENOENT.*no server listens at this path/,
    })
    for (const url of ['ws+unix:', 'ws+unix::/']) {
      await t.rejects(connect(url), { code: 'BAD_REQUEST', message: /is not an address.*ws\+unix:\/run/ })
    }
  },
)
