import { inspect } from 'node:util'
import t from 'tap'
import {
  and,
  arrowDefinition,
  avg,
  col,
  connect,
  constant,
  count,
  descending,
  Query,
  relation,
  sum,
  Value,
  WarpdexError,
  when,
} from '../../../clients/sdk/index.js'
import { Random, seedOfRun } from '../../random.js'
import { start } from '../../src/server/start.js'
import { cyclic, failureOf, loosely } from './loose-calls.js'

t.test('junk as arguments makes a WarpdexError, and nothing else', { timeout: 120_000 }, async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const server = await start(t)
  const client = await connect(server.url, { deadline: 30_000 })
  t.teardown(() => client.close())
  await client.createIndex({ name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false })
  await client.createIndex({ name: 'texts', keyType: 'string', payloadKind: 'bytes', unique: false })
  await client.createIndex({
    name: 'pairs',
    keyType: 'tuple(u32,bytes)',
    payloadKind: 'fixed(2)',
    unique: true,
  })
  const columns = [
    { name: 'k', type: 'u32', nullable: false },
    { name: 's', type: 'string', nullable: true },
  ] as const
  await client.createRelation({ name: 'r', columns })
  const r = relation('r')
  const targets: readonly (readonly [object, readonly string[]])[] = [
    client,
    ...['numbers', 'texts', 'pairs', 'none'].map((name) => client.index(name)),
    ...['r', 'none'].map((name) => client.relation(name)),
    r,
    client.query(r),
    col('k'),
    client.index('numbers').batch(),
  ].map((target) => {
    const names = Object.getOwnPropertyNames(Object.getPrototypeOf(target))
    const own = target as unknown as Record<string, unknown>
    // A watch waits for as long as nothing is written.
    const left = ['constructor', 'close', 'closed', 'server', 'calibration', 'watch']
    return [target, names.filter((name) => !left.includes(name) && typeof own[name] === 'function')]
  })
  const functions = {
    connect,
    relation,
    descending,
    col,
    constant,
    and,
    when,
    count,
    sum,
    avg,
    arrowDefinition,
  }
  const all = [...targets, [functions, Object.keys(functions)] as const]
  for (let i = 0; i < 3000; i++) {
    const [target, names] = random.pick(all)
    const name = random.pick(names)
    const args = Array.from({ length: random.below(4) }, () => junk(random))
    const call = () => (target as Record<string, (...args: unknown[]) => unknown>)[name]!(...args)
    const { error } = await Promise.race([failureOf(call), hangs()])
    if (error === undefined) continue
    const isRight = error instanceof WarpdexError && !UNWANTED.includes(error.code)
    if (!isRight) t.fail(`${target.constructor.name}.${name} of ${inspect(args, { depth: 4 })}`, { error })
  }
  t.equal(await client.index('texts').get('none of them'), undefined, 'the connection is there still')
})

/** What becomes of a call that does not end. */
function hangs(): Promise<{ readonly error: unknown }> {
  return new Promise((resolve) => setTimeout(resolve, 60_000, { error: 'no end after a minute' }).unref())
}

/** What calls may not end with: faults of the client or the server, or of no one. */
const UNWANTED: readonly string[] = ['INTERNAL', 'DEADLINE_EXCEEDED', 'CANCELLED', 'CONNECTION_LOST']

function junk(random: Random, depth = 0): unknown {
  if (depth < 3 && random.chance(0.3)) {
    const list = Array.from({ length: random.below(3) }, () => junk(random, depth + 1))
    return random.chance(0.1) ? new Array(1).concat(list) : list
  }
  if (depth < 3 && random.chance(0.35)) {
    const count = 1 + random.below(2)
    const names = Array.from({ length: count }, () => random.pick(NAMES))
    return Object.fromEntries(names.map((name) => [name, junk(random, depth + 1)]))
  }
  return random.pick(JUNK)()
}

const NAMES = [
  ...['signal', 'strategy', 'ifExists', 'payloads', 'payload', 'keys', 'ops', 'from', 'to', 'prefix'],
  ...['limit', 'pageSize', 'after', 'sequences', 'reverse', 'bytes', 'offsets', 'name', 'keyType', 'columns'],
  ...['on', 'band', 'kind', 'all', 'byKey', 'k', 's', 'column', 'descending', 'function', 'value', 'op'],
  ...['seconds', 'length', 'constructor', '__proto__', 'schema', 'fields', 'partitionLevels'],
]

const JUNK: readonly (() => unknown)[] = [
  ...['', 'a', 'k', 'numbers', 'string', 'ws://', '\ud800', 'x'.repeat(5000)].map((text) => () => text),
  ...[0, 1, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32, 2 ** 60, -0].map(
    (number) => () => number,
  ),
  ...[0n, -1n, 2n ** 64n, 2n ** 1100n, true, false, null, undefined, Symbol('x')].map((value) => () => value),
  () => () => 1,
  () => new Date(0),
  () => new Set(['a']),
  () => new Map([['a', 1]]),
  () => ['a'].values(),
  () => Object.create(null),
  () => new Proxy({}, {}),
  () => /x/,
  () => new Error('x'),
  () => Uint8Array.of(1, 2),
  () => Uint32Array.of(0, 1),
  () => new Float64Array(2),
  () => BigInt64Array.of(1n),
  () => new DataView(new ArrayBuffer(4)),
  () => new ArrayBuffer(4),
  () => Buffer.from('a'),
  () => new URL('ws://127.0.0.1'),
  () => relation('r'),
  () => col('k'),
  () => new Value(loosely({ value: Symbol('x') })),
  () => new Query(loosely(cyclic())),
  () => count('k'),
]
