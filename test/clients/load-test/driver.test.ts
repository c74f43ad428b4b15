import t, { type Test } from 'tap'
import { DataSet } from '../../../clients/load-test/data-set.js'
import { Driver, type DriverResult } from '../../../clients/load-test/driver.js'
import { KeySpace, type TestKeyType } from '../../../clients/load-test/key-space.js'
import { openTarget } from '../../../clients/load-test/open-target.js'
import type { LoadTestOptions } from '../../../clients/load-test/options.js'
import { PayloadSpace } from '../../../clients/load-test/payload-space.js'

import { WORKLOAD_NAMES, workload } from '../../../clients/load-test/workloads.js'
import { connect, type PayloadKind } from '../../../clients/sdk/index.js'
import { loadConfig, startServer } from '../../../src/server/index.js'
import { seedOfRun } from '../../random.js'

const RECORDS = 1000
const config = loadConfig({ flags: { port: 0, adapter: 'software', directory: t.testdir() } })
const server = await startServer(config)
t.teardown(() => server.close())
const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

function testOptions(changes: Partial<LoadTestOptions>): LoadTestOptions {
  const name = changes.workload ?? 'a'
  return {
    url: server.url,
    token: undefined,
    index: name,
    keyType: 'u64',
    payloadKind: 'fixed(16)',
    payloadBytes: 30,
    records: RECORDS,
    distribution: workload(name).distribution,
    batch: 10,
    scanLength: 20,
    processes: 2,
    connections: 2,
    depth: 3,
    rate: undefined,
    arrivals: 'constant',
    warmUp: 0,
    seconds: 0.3,
    operations: 600,
    seed,
    verify: true,
    load: true,
    keep: false,
    prepared: 0,
    workload: name,
    ...changes,
  }
}

/** Loads the data set, and lets several drivers do what processes would. */
async function run(options: LoadTestOptions): Promise<DriverResult[]> {
  const payloads = new PayloadSpace(options.payloadKind, options.payloadBytes)
  const data = new DataSet(new KeySpace(options.keyType, options.seed), payloads)
  const tested = await openTarget(options, payloads)
  try {
    await (options.load ? tested.create() : tested.check())
    if (options.load) await tested.load(data.batches(0, options.records), () => {})
    const drivers = await Promise.all(
      Array.from({ length: options.processes }, (_, process) => Driver.open(options, process)),
    )
    await Promise.all(drivers.map((driver) => driver.warmUp()))
    const start = performance.now()
    const results = await Promise.all(drivers.map((driver) => driver.measure(start, 100, () => {})))
    for (const driver of drivers) driver.close()
    if (!options.keep) await tested.remove([])
    return results
  } finally {
    tested.close()
  }
}

/** What all drivers did, and that nothing was wrong. */
function sum(
  t: Test,
  results: readonly DriverResult[],
): { requests: number; items: number; checked: number } {
  const operations = results.flatMap((result) => Object.values(result.operations))
  for (const { errors, verification } of results) {
    t.same(errors, {})
    t.same(verification?.examples ?? [], [])
    t.equal(verification?.failures ?? 0, 0)
  }
  return {
    requests: operations.reduce((total, each) => total + each.requests, 0),
    items: operations.reduce((total, each) => total + each.items, 0),
    checked: results.reduce((total, each) => total + (each.verification?.checked ?? 0), 0),
  }
}

for (const name of WORKLOAD_NAMES) {
  t.test(`workload ${name}, all answers right`, async (t) => {
    const records = name === 'ingest' ? 0 : RECORDS
    const results = await run(testOptions({ workload: name, records }))
    const { requests, items, checked } = sum(t, results)
    t.equal(requests, 60)
    t.equal(items, 600)
    if (name !== 'ingest') t.ok(checked > 0)
    const kinds = new Set(results.flatMap((result) => Object.keys(result.operations)))
    t.ok([...kinds].every((kind) => kind in workload(name).shares))
  })
}

const TYPES: readonly (readonly [TestKeyType, PayloadKind])[] = [
  ['u32', 'u32'],
  ['i64', 'u64'],
  ['f64', 'fixed(3)'],
  ['string', 'bytes'],
  ['bytes', 'fixed(16)'],
]

for (const [keyType, payloadKind] of TYPES) {
  t.test(`${keyType} → ${payloadKind}, of all kinds of requests`, async (t) => {
    for (const workload of ['mixed', 'walk'] as const) {
      const { checked } = sum(t, await run(testOptions({ workload, keyType, payloadKind })))
      t.ok(checked > 0, workload)
    }
  })
}

t.test('wrong answers are found', async (t) => {
  const client = await connect(server.url)
  const options = testOptions({ workload: 'c', keep: true, operations: 60 })
  sum(t, await run(options))
  const index = client.index<'u64'>('c')
  const keys: bigint[] = []
  for await (const { key } of index.entries()) keys.push(key)
  t.equal(keys.length, RECORDS)
  await index.deleteMany(BigUint64Array.from(keys.slice(0, RECORDS / 2)))
  const results = await run({ ...options, load: false, keep: true, operations: 600 })
  const failures = results.reduce((total, { verification }) => total + (verification?.failures ?? 0), 0)
  t.ok(failures > 0)
  t.match(results[0].verification?.examples[0], /is not found/)
  await t.rejects(run({ ...options, keyType: 'u32', load: false }), {
    code: 'BAD_REQUEST',
    message: /u64 → fixed/,
  })
  await t.rejects(run(options), { code: 'INDEX_EXISTS', message: /--no-load/ })
  await index.deleteMany(BigUint64Array.from(keys.slice(RECORDS / 2)))
  await client.dropIndex('c')
  const gone = await run({ ...options, load: true, keep: false, workload: 'lookup', index: 'again' })
  sum(t, gone)
  client.close()
})

t.test('errors are counted by code, and do not end the test', async (t) => {
  const client = await connect(server.url)
  const options = testOptions({ workload: 'lookup', verify: false })
  const payloads = new PayloadSpace(options.payloadKind, 0)
  await client.createIndex({ name: 'lookup', keyType: 'u64', payloadKind: 'fixed(16)', unique: true })
  const driver = await Driver.open(options, 0)
  await client.dropIndex('lookup')
  const result = await driver.measure(performance.now(), 100, () => {})
  t.same(result.errors, { UNKNOWN_INDEX: 30 })
  t.equal(payloads.width, 16)
  driver.close()
  client.close()
})

t.test('an open loop sends at its rate; requests that it cannot send are counted', async (t) => {
  const slow = testOptions({ workload: 'c', operations: undefined, seconds: 0.3, rate: 100 })
  const results = await run(slow)
  // On a slow machine some of those that are due come too late.
  const unsent = results.reduce((total, each) => total + each.unsent, 0)
  t.equal(sum(t, results).requests + unsent, 30)
  const fast = await run({ ...slow, rate: 1e6, depth: 1, connections: 1 })
  sum(t, fast)
  t.ok(fast[0].unsent > 1000)
})

t.test('prepared keys are taken again and again', async (t) => {
  const { items } = sum(t, await run(testOptions({ workload: 'c', prepared: 64, batch: 20 })))
  t.equal(items, 600)
})
