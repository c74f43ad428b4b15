import t, { type Test } from 'tap'
import { type Client, connect, WarpdexError } from '../../../../clients/sdk/index.js'
import { Device } from '../../../../gpu/device/device.js'
import { loadConfig, type RunningServer, startServer } from '../../../../src/server/index.js'
import { Random, seedOfRun } from '../../../random.js'
import { start } from '../start.js'
import { witness } from './witness.js'

const NAMES = ['a', 'b', 'c']
const CLIENTS = 4
/** What may become of a request to an index that comes and goes; everything else is a mistake. */
const EXPECTED = ['UNKNOWN_INDEX', 'INDEX_EXISTS', 'WRONG_KEY_TYPE', 'CANCELLED']

type Step = (client: Client, name: string, random: Random) => Promise<unknown>

const values = (random: Random) => Array.from({ length: 50 }, () => random.below(1000))
const index = (client: Client, name: string) => client.index<'u32', 'u32'>(name)

const STEPS: readonly Step[] = [
  (client, name) => client.createIndex({ name, keyType: 'u32', payloadKind: 'u32', unique: false }),
  (client, name) =>
    client.createIndex({ name, keyType: 'u32', payloadKind: 'u32', unique: false }, { ifNotExists: true }),
  (client, name) => client.dropIndex(name),
  (client, name) => client.dropIndex(name, { ifExists: true }),
  (client, name, random) => client.renameIndex(name, random.pick(NAMES)),
  (client, name, random) => client.swapIndexes(name, random.pick(NAMES.filter((other) => other !== name))),
  (client, name, random) => index(client, name).insertMany(values(random), values(random)),
  (client, name, random) => index(client, name).insertMany(values(random), values(random)),
  (client, name, random) => index(client, name).getMany(values(random)),
  (client, name, random) => index(client, name).countMany(values(random)),
  (client, name, random) => index(client, name).deleteMany(values(random)),
  (client, name) =>
    index(client, name)
      .ranges({ from: [0, 500], to: [400, 900], pageSize: 100 })
      .firstPage(),
  (client, name) => index(client, name).stats(),
  (client, name) => client.takeSnapshot(name),
  (client) => client.takeSnapshot(),
  (client) => client.stats(),
  (client) => client.listIndexes(),
]

async function race(t: Test, server: RunningServer, rounds: number): Promise<void> {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const endOfWatch = await witness(t, server.url, new Random(seed))
  const outcomes = new Map<string, number>()
  const run = async (i: number) => {
    const random = new Random(seed + i)
    const client = await connect(server.url, { reconnect: { attempts: 0 } })
    for (let round = 0; round < rounds; round++) {
      const steps = Array.from({ length: 6 }, () => random.pick(STEPS)(client, random.pick(NAMES), random))
      for (const result of await Promise.allSettled(steps)) {
        const outcome = result.status === 'fulfilled' ? 'ok' : describe(result.reason)
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
    }
    client.close()
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, i) => run(i + 1)))
  t.ok((await endOfWatch()) > 0)
  t.comment([...outcomes].map(([outcome, count]) => `${outcome} ${count}`).join(', '))
  t.strictSame(
    [...outcomes.keys()].filter((outcome) => outcome !== 'ok' && !EXPECTED.includes(outcome)),
    [],
  )
  t.ok(outcomes.get('ok')! > rounds)
}

/** An error's code, with its message where it should not have come. */
function describe(reason: unknown): string {
  if (!(reason instanceof WarpdexError)) return String(reason)
  return EXPECTED.includes(reason.code) ? reason.code : `${reason.code}: ${reason.message}`
}

t.test('creating and dropping, raced with everything else', async (t) => {
  const directory = t.testdir()
  const server = await start(t, { directory })
  await race(t, server, 20)
  const before = server.engine.stats().indexes.map(({ name, payloads }) => ({ name, payloads }))
  await server.close()
  const again = await start(t, { directory })
  const after = again.engine.stats().indexes.map(({ name, payloads }) => ({ name, payloads }))
  const sorted = (list: typeof before) => list.sort((a, b) => (a.name < b.name ? -1 : 1))
  t.strictSame(sorted(after), sorted(before), 'a restart finds what was there')
})

t.test('the same with structures on the device', async (t) => {
  const config = loadConfig({ flags: { port: 0, directory: t.testdir() } })
  const server = await startServer(config, { openDevice: () => Device.open('software') })
  t.teardown(() => server.close())
  await race(t, server, 4)
})
