import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { startNodes } from '../../src/cluster/start-nodes.js'
import { serve } from '../cli/run-cli.js'
import { lacks, PYTHON, PYTHON_PATH, WANTED } from './python.js'

const ROOT = process.cwd()
const CLIENT = join(ROOT, 'clients/python')

/** Runs Python, whose output the test shows. @returns its exit code */
async function python(
  t: Test,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: PYTHON_PATH, ...environment }
  const child = spawn(PYTHON, args, { cwd: CLIENT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const [code] = await once(child, 'close')
  for (const line of output.trimEnd().split('\n')) t.comment(line)
  return code
}

/** Runs all tests in files of such a name. */
function tests(t: Test, pattern: string, environment: Readonly<Record<string, string>>): Promise<number> {
  const folder = join(ROOT, 'test/clients/python')
  return python(
    t,
    ['-W', 'error', '-m', 'unittest', 'discover', '-v', '-s', folder, '-p', pattern],
    environment,
  )
}

const needed = lacks(WANTED)

t.test('the Python client', { skip: needed }, async (t) => {
  const { url } = await serve(t, t.testdir())
  t.equal(await tests(t, 'test_*.py', { WARPDEX_URL: url }), 0, 'all of its tests pass')
})

const noNodes = natsLacks()
if (noNodes !== undefined) t.comment(noNodes)

t.test('it and a replica set', { skip: needed || noNodes || false }, async (t) => {
  const nodes = await startNodes(t, 2)
  const urls = nodes.map(({ url }) => url)
  const client = await connect(urls)
  t.teardown(() => client.close())
  // Answered by the owner, once there is one.
  await client.listIndexes()
  const { owner } = (await client.stats()).server.replica as { owner: string }
  const others = urls.filter((url) => url !== owner)
  const passed = tests(t, 'replica_set.py', { WARPDEX_NODES: [...others, owner].join(',') })
  let ended = false
  void passed.then(() => {
    ended = true
  })
  // The index says that the client is writing.
  while (!ended && (await client.listIndexes()).length === 0) await new Promise((go) => setTimeout(go, 10))
  await nodes.find(({ url }) => url === owner)!.close()
  t.equal(await passed, 0, 'it goes over to the next owner')
})

t.test('it and several replica sets', { skip: needed || noNodes || false }, async (t) => {
  const nodes = await startNodes(t, 2, 2)
  const urls = nodes.map(({ url }) => url)
  const client = await connect(urls)
  t.teardown(() => client.close())
  await client.createIndex(
    { name: 'spread', keyType: 'u32', payloadKind: 'u32', unique: true },
    { splitAt: [1000] },
  )
  t.equal(await tests(t, 'cluster.py', { WARPDEX_NODES: urls.join(',') }), 0, 'a node forwards')
})

t.test('its types', { skip: needed || lacks({ modules: 'mypy', packages: 'python3-mypy' }) }, async (t) => {
  t.equal(await python(t, ['-m', 'mypy', '--cache-dir', t.testdir(), 'src']), 0, 'mypy finds no fault')
})
