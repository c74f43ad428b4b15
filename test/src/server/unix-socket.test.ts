import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { start } from './start.js'

// A socket's path must be short.
const folder = mkdtempSync(join(tmpdir(), 'warpdex-'))
t.teardown(() => rmSync(folder, { recursive: true }))

for (const ioThreads of [0, 1]) {
  t.test(`a Unix socket beside the port, with ${ioThreads} threads that listen`, async (t) => {
    const path = join(folder, `${ioThreads}.sock`)
    const server = await start(t, { listen: `unix:${path}`, ioThreads, token: 'a-token-of-this-test' })
    await t.rejects(connect(`ws+unix:${path}`), { code: 'UNAUTHORISED' }, 'tokens are wanted there, too')
    const token = 'a-token-of-this-test'
    const [near, far] = [
      await connect(`ws+unix:${path}`, { token }),
      await connect(server.url, { token }),
    ] as const
    await near.createIndex({ name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: true })
    await near.index('numbers').insertMany(Uint32Array.of(7), Uint32Array.of(70))
    t.equal(await far.index('numbers').get(7), 70)
    await near.close()
    await far.close()
    await server.close()
    const again = await start(t, { listen: `unix:${path}`, ioThreads })
    await again.close()
  })
}

t.test('a path in use is refused, and one that a killed server left is taken over', async (t) => {
  const path = join(folder, 'taken.sock')
  const other = createServer().listen(path)
  await once(other, 'listening')
  await t.rejects(start(t, { listen: `unix:${path}` }), { code: 'BAD_REQUEST', message: /is in use/ })
  other.close()
  const lost = join(folder, 'lost.sock')
  const child = spawn(process.execPath, [
    '-e',
    `require('net').createServer().listen(${JSON.stringify(lost)}, () => console.log('up'))`,
  ])
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const server = await start(t, { listen: `unix:${lost}` })
  const client = await connect(`ws+unix:${lost}`)
  t.strictSame(await client.listIndexes(), [])
  await client.close()
  await server.close()
})

t.test('an address that is none is refused', async (t) => {
  const missing = join(folder, 'no-folder', 'a.sock')
  await t.rejects(start(t, { listen: `unix:${missing}` }), {
    code: 'BAD_REQUEST',
    message: /lies in no folder/,
  })
  await t.rejects(start(t, { listen: 'tcp:7070' }), { code: 'BAD_REQUEST', message: /unix:/ })
})
