import { once } from 'node:events'
import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { natsLacks } from '../../src/cluster/nats-servers.js'
import { startNodes } from '../../src/cluster/start-nodes.js'
import { loosely } from '../sdk/loose-calls.js'
import { cliOf, spawnCli } from './run-cli.js'

const lack = natsLacks()
if (lack !== undefined) t.comment(lack)

t.test('indexes are balanced between replica sets', { skip: lack ?? false }, async (t) => {
  const nodes = await startNodes(t, 3, 3)
  const { url } = nodes[0]!
  const environment = { WARPDEX_URL: url }
  const cli = cliOf(environment)
  const client = await connect(url)
  t.teardown(() => client.close())
  const partsOf = async (name: string) => {
    const { payloadsOfSets } = await client.index(name).stats()
    return (payloadsOfSets as number[]).sort((one, other) => one - other)
  }
  const create = async (name: string, keys: readonly unknown[], unique = true, splitAt?: unknown[]) => {
    const keyType = typeof keys[0] === 'string' ? 'string' : 'u32'
    const definition = { name, keyType, payloadKind: 'u32', unique }
    const index = await client.createIndex(loosely(definition), loosely({ splitAt }))
    await index.insertMany(
      loosely(keys),
      keys.map((_, i) => i),
    )
  }
  const numbers = Array.from({ length: 900 }, (_, i) => i)
  const names = numbers.map((i) => `name ${i % 10}${i}`)
  await create('numbers', numbers, true, [890, 895])
  await create('names', names, true, ['z'])
  await create(
    'same',
    numbers.map((i) => (i < 800 ? 5 : i)),
    false,
    [5, 6],
  )
  await create('even', numbers, true, [300, 550])
  await create('whole', numbers)
  const before = await Promise.all(['whole', 'even'].map(partsOf))

  const balance = ['cluster', 'balance', '--least', '100']
  const planned = await cli([...balance, '--dry-run'])
  t.match(planned, { code: 0 })
  t.match(
    planned.out,
    /^numbers: [\d /]*890[\d /]* entries on replica sets 0 to 2; to split at 300 600, with 300 \/ 300 \/ 300 each$/m,
  )
  t.match(planned.out, /^names: .* to split at name 3\S* name 6\S*, with 300 \/ 300 \/ 300 each$/m)
  t.match(planned.out, /^same: [\d /]*800[\d /]* entries .*; no keys divide them better$/m)
  t.equal(planned.out.split('\n').length, 4, 'no others')
  t.same(await partsOf('numbers'), [5, 5, 890])

  const done = await cli([...balance, '--json'])
  const lines = done.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.same(
    lines.find(({ index }) => index === 'numbers'),
    { index: 'numbers', before: lines[0].before, entries: [300, 300, 300], splitAt: [300, 600], split: true },
  )
  t.match(
    lines.find(({ index }) => index === 'same'),
    { split: false },
  )
  for (const name of ['numbers', 'names']) t.same(await partsOf(name), [300, 300, 300], name)
  t.same([await partsOf('whole'), await partsOf('even')], before)
  t.match(await cli(['cluster', 'balance']), { code: 0, out: 'nothing to balance\n' })

  // As a service does, until it is told to end.
  const service = spawnCli(environment, [...balance, '--every', '1', '--spread-from', '900'])
  service.stderr.pipe(process.stderr)
  let said = ''
  for await (const text of service.stdout.setEncoding('utf8')) {
    said += text
    if (/^whole: [\d /]*900.* split at 300 600/m.test(said)) break
  }
  service.kill('SIGTERM')
  t.same(await once(service, 'exit'), [0, null])
  t.same(await partsOf('whole'), [300, 300, 300])

  await client.index<'u32'>('even').deleteRange({ from: 10, to: 699 })
  t.match(await cli(['cluster', 'split', 'even']), { code: 0, out: 'split, with 210 entries\n' })
  t.same(await partsOf('even'), [70, 70, 70])

  t.match(await cli([...balance, '--ratio', '1.1']), { code: 2, err: /--ratio is "1.1"; .*from 1.5 on/ })
  await create('empty', [])
  await t.rejects(client.splitIndex('empty'), { code: 'BAD_REQUEST', message: /too few keys to divide/ })
})
