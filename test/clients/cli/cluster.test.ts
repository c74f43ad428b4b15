import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type ChangeBatch, connect } from '../../../clients/sdk/index.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { startNodes } from '../../src/cluster/start-nodes.js'
import { cliOf, spawnCli } from './run-cli.js'

const lack = natsLacks()
if (lack !== undefined) t.comment(lack)
const test = lack === undefined ? t.test : () => {}

const cli = cliOf({})

/** `warpdex cluster dev`, which ends with the test, and what it has said. */
async function startDev(t: Test, directory: string, nodes: number) {
  const flags = ['--nodes', String(nodes), '--port', '0', '--adapter', 'software', '--directory', directory]
  const child = spawnCli({}, ['cluster', 'dev', ...flags])
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  child.stderr.pipe(process.stderr)
  const stop = async () => {
    child.kill('SIGINT')
    return once(child, 'exit')
  }
  t.teardown(async () => {
    if (child.exitCode === null) await stop()
  })
  const says = async (what: RegExp) => {
    while (!what.test(said) && child.exitCode === null) await setTimeout(20)
    const found = what.exec(said)
    if (found === null) throw new Error(`it has not said ${what}: ${said}`)
    return found
  }
  const [, urls = ''] = await says(/WARPDEX_URL=(\S+)[\s\S]*Ctrl-C/)
  return { urls, says, stop }
}

test('a cluster on one machine starts nodes again that end, and goes on with its folder', async (t) => {
  const directory = join(t.testdir(), 'cluster')
  const first = await startDev(t, directory, 2)
  const client = cliOf({ WARPDEX_URL: first.urls })
  const writer = await connect(first.urls.split(','))
  const definition = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: true } as const
  await (await writer.createIndex(definition)).put(1, 100)
  await writer.close()
  // A node that follows hears of the owner, and of what it has appended, a little later.
  let known = await client(['cluster', 'status'])
  while (known.code !== 0 || / 0 +\d+$/m.test(known.out)) known = await client(['cluster', 'status'])
  t.match(
    known.out,
    /^node +replica set +role +owner +position +behind\n(ws:\S+ +dev-0 +(owner|following) +ws:\S+ +\d+ +\d+\n){2}$/,
  )

  const [{ owner }] = JSON.parse((await client(['cluster', 'status', '--json'])).out)
  const other = first.urls.split(',').find((url) => url !== owner)!
  const owns = (url: string) => ({ code: 0, out: `${url} owns replica set 0\n` })
  t.match(await client(['cluster', 'move', '0', '--to', other]), owns(other))
  t.match(await client(['cluster', 'move', '0', '--to', other]), owns(other), 'it does so already')
  const drained = { code: 0, out: `${owner} owns the replica set; ${other} can be stopped\n` }
  for (const _again of [1, 2]) t.match(await client(['cluster', 'drain', other]), drained)

  process.kill(
    Number.parseInt(readFileSync(join(directory, 'node-1', 'warpdex.lock'), 'utf8'), 10),
    'SIGKILL',
  )
  await first.says(/node-1 ended with SIGKILL. The end of \S+node-1.log:\n {2}/)
  const status = await client(['cluster', 'status', '--json'])
  t.match(status, { code: 1 })
  const [, killed] = first.urls.split(',')
  t.match(JSON.parse(status.out)[1], { node: killed, error: /no connection/ })
  t.match(await client(['cluster', 'status']), { code: 1, out: /no answer/ })
  await first.says(/node-1 is ready again/)
  t.same(await first.stop(), [0, null])

  const again = await startDev(t, directory, 1)
  const reader = await connect(again.urls)
  t.equal(await reader.index(definition).get(1), 100)
  await reader.close()
  t.match(await cli(['cluster', 'dev', '--port', '0', '--directory', directory]), {
    code: 2,
    err: /has \S+ open; stop it/,
  })
  t.same(await again.stop(), [0, null])
})

test('a cluster on one machine needs ports that are free', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = Object(server.address())
  t.match(await cli(['cluster', 'dev', '--port', String(port), '--directory', t.testdir()]), {
    code: 2,
    err: new RegExp(`port ${port} is in use`),
  })
})

t.test('what is wrong with a cluster is said', async (t) => {
  t.match(await cliOf({ PATH: t.testdir() })(['cluster', 'dev']), {
    code: 2,
    err: /no nats-server on the PATH; get 2.12 or later from https:/,
  })
  t.match(await cli(['cluster', 'dev', '--gpus', 'all']), { code: 2, err: /several GPUs/ })
  t.match(await cli(['cluster', 'dev', '--nodes', 'none']), { code: 2, err: /--nodes is "none"/ })
  t.match(await cli(['cluster', 'dev', '--replica-sets', '4']), {
    code: 2,
    err: /--replica-sets 4 needs a node/,
  })
  t.match(await cli(['cluster', 'status', '--url', 'ws://127.0.0.1:9']), {
    code: 1,
    out: /no answer\nno connection to ws:/,
  })
  t.match(await cli(['cluster', 'move', 'one', '--to', 'ws://b']), { code: 2, err: /"one" is no number/ })
  t.match(await cli(['cluster']), { code: 2 })
})

test('commands work on a cluster as on one server', async (t) => {
  const nodes = await startNodes(t, 3, 3)
  const cli = cliOf({ WARPDEX_URL: nodes.map(({ url }) => url).join() })
  t.match(await cli(['cluster', 'drain', nodes[0]!.url]), {
    code: 2,
    err: /no other node can take replica set \d: at the moment it has no other node/,
  })
  t.match(await cli(['cluster', 'move', '0', '--to', 'ws://b']), { code: 2, err: /ws:\/\/b cannot take/ })
  t.match(await cli(['cluster', 'move', '3', '--to', 'ws://b']), {
    code: 2,
    err: /there is no replica set 3/,
  })
  const create = ['create', 'towns', '--key', 'i32', '--payload', 'text', '--split-at', '-5', '10']
  t.match(await cli(create), { code: 0, out: 'created\n' })
  t.match(await cli(['list']), { out: /towns +i32 +text +.*on replica sets \d, \d, \d/ })
  const client = await connect(nodes[0]!.url)
  t.teardown(() => client.close())
  const snapshot = await client.snapshot()
  for (const [key, town] of [
    [-7, 'Ys'],
    [0, 'Vineta'],
    [12, 'Kitezh'],
  ] as const)
    t.match(await cli(['put', 'towns', String(key), town]), { code: 0 })
  t.match(await cli(['get', 'towns', '12', '-7', '1']), {
    code: 1,
    out: '12\tKitezh\n-7\tYs\n1\t(not found)\n',
  })
  const { value: first } = await client.index('towns').watch({ from: snapshot }).next()
  const { position: from } = first as ChangeBatch<'i32', 'text'>
  t.match(await cli(['watch', 'towns', '--from', from, '--limit', '1']), {
    out: /^\{"position":"\d:\S+,\d:\S+,\d:\S+","op":"put",/,
  })
  t.match(await cli(['cluster', 'split', 'towns', '12']), { code: 0, out: 'split, with 3 entries\n' })
  t.match(await cli(['list']), { out: /on replica sets \d, \d\n/ })
  t.match(await cli(['entries', 'towns', '--reverse']), { out: '12\tKitezh\n0\tVineta\n-7\tYs\n' })
  t.match(await cli(['create', 'bad', '--key', 'u32', '--payload', 'u32', '--split-at', 'x']), {
    code: 2,
    err: /"x" is not a number/,
  })
})
