import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { WriteOp } from '../../../protocol/types.js'
import { openEngine, u32 } from '../../src/engine/open-engine.js'
import { writeTo } from '../../writes.js'
import { cliOf, serve, spawnServer } from './run-cli.js'

const directory = t.testdir()

t.test('ten processes one after the other, each told to stop', async (t) => {
  const data = join(directory, 'data')
  for (let i = 0; i < 10; i++) {
    const server = await serve(t, data)
    t.same(await server.stop(i % 2 === 0 ? 'SIGTERM' : 'SIGINT'), [0, null])
  }
})

t.test('a server that is told to stop while it starts leaves everything as it was', async (t) => {
  const data = join(directory, 'logged')
  const batches = 600
  const engine = await openEngine(t, { directory: data })
  await engine.createIndex({ name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false })
  const index = engine.index('numbers')
  for (let i = 0; i < batches; i++) {
    await writeTo(index, { ops: WriteOp.replace, keys: u32(i), payloads: u32(i) })
  }
  await engine.close()

  const child = spawnServer(t, data)
  let out = ''
  child.stdout.on('data', (text) => {
    out += text
  })
  const lock = join(data, 'warpdex.lock')
  const hasLock = () => readFileSync(lock, 'utf8').startsWith(`${child.pid} `)
  while (!hasLock()) await setTimeout(5)
  child.kill('SIGTERM')
  t.same(await once(child, 'exit'), [0, null])
  t.equal(out, '', 'it was never ready')

  const again = await openEngine(t, { directory: data })
  t.match(again.stats('numbers'), { indexes: [{ payloads: batches }] })
})

t.test('variables that do not count are named in the log', async (t) => {
  const environment = { WARPDEX_PORT: 'tcp://10.0.0.1:7070', WARPDEX_PROT: '1' }
  // What is no folder ends the start.
  const { code, err } = await cliOf(environment)(['serve', '--port', '0', '--directory', 'package.json'])
  t.equal(code, 2)
  t.match(err, /WARN +ignored WARPDEX_PORT, which Kubernetes sets.*\n.*WARN +ignored WARPDEX_PROT, which/)
  t.match(err, /is not a folder/)
})
