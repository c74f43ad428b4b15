import t, { type Test } from 'tap'
import { asBytes } from '../../../protocol/columns.js'
import { type IndexDefinition, ResultCode, WriteOp } from '../../../protocol/types.js'
import type { Engine } from '../../../src/engine/index.js'
import { openSharedDevice } from '../../gpu/open-device.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { HandClock } from '../engine/hand-clock.js'
import { u32, values } from '../engine/open-engine.js'
import { ReplicaSet, until } from './handed-nodes.js'

const device = await openSharedDevice(t)
const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)
const DEFINITION: IndexDefinition = { name: 'a', keyType: 'u32', payloadKind: 'u32', unique: true, ttl: 5 }
const KEYS = 30
const HOUR = 3600

interface Item {
  readonly op: WriteOp
  readonly key: number
  readonly payload: number
  /** When it expires, 0 for never. */
  readonly at: number
}

const column = (all: readonly number[]) => ({ bytes: u32(...all), width: 4 })

async function write(engine: Engine, items: readonly Item[]): Promise<number[]> {
  const codes = await engine.index('a').write({
    ops: Uint8Array.from(items, ({ op }) => op),
    keys: column(items.map(({ key }) => key)),
    payloads: column(items.map(({ payload }) => payload)),
    expireAt: {
      times: asBytes(BigUint64Array.from(items, ({ at }) => BigInt(at))),
      first: Math.min(...items.map(({ at }) => (at === 0 ? Number.POSITIVE_INFINITY : at))),
    },
  })
  return [...codes]
}

const put = (key: number, at: number): Item => ({ op: WriteOp.replace, key, payload: key, at })

async function contents(engine: Engine): Promise<[number, number][]> {
  const page = await reads(engine.index('a')).scan({ ranges: 1, limit: 1000 })
  const payloads = values(page.payloads)
  return values(page.keys).map((key, i) => [key, payloads[i]!])
}

const keysOf = async (engine: Engine) => (await contents(engine)).map(([key]) => key)

/** What an owner has to hold. */
class Model {
  readonly #entries = new Map<number, Item>()

  write({ op, key, payload, at }: Item): number {
    const isThere = this.#entries.has(key)
    if (op === WriteOp.deleteKey) {
      this.#entries.delete(key)
      return isThere ? ResultCode.deleted : ResultCode.notFound
    }
    if (isThere && op !== WriteOp.replace) return ResultCode.exists
    this.#entries.set(key, { op, key, payload, at })
    return isThere ? ResultCode.replaced : ResultCode.inserted
  }

  expire(now: number): void {
    for (const [key, { at }] of this.#entries) if (at > 0 && at <= now) this.#entries.delete(key)
  }

  contents(): [number, number][] {
    return [...this.#entries]
      .map(([key, { payload }]): [number, number] => [key, payload])
      .sort(([a], [b]) => a - b)
  }
}

/** Nodes by name, with clocks that are hours apart. */
async function startNodes(t: Test, logBytes?: number) {
  const set = new ReplicaSet(t, device, logBytes)
  const clocks = new Map(
    ['now', 'behind', 'ahead'].map((name, i) => {
      const clock = new HandClock()
      clock.jump([0, -HOUR, HOUR][i]!)
      return [name, clock]
    }),
  )
  const start = (name: string) => set.start(name, undefined, clocks.get(name))
  for (const name of clocks.keys()) await start(name)
  /** All followers have all that is in the log. */
  const followed = () => until(() => [...set.nodes.values()].every(({ node }) => isUpToDate(set, node)))
  return { set, clocks, start, followed }
}

function isUpToDate({ log }: ReplicaSet, node: { readonly isOwner: boolean; readonly position: number }) {
  return node.isOwner || node.position === log.entries.length
}

t.test('entries leave by the clock of the owner, on all nodes, and none comes back', async (t) => {
  const random = new Random(seed)
  const { set, clocks, start, followed } = await startNodes(t, 6000)
  const names = [...clocks.keys()]
  let name = 'now'
  let owner = await set.give(name)
  await owner.createIndex(DEFINITION)
  const model = new Model()
  const now = () => clocks.get(name)!.date()
  for (let step = 0; step < 60; step++) {
    if (random.chance(0.1)) {
      await followed()
      name = random.pick(names)
      owner = await set.give(name)
    }
    model.expire(now())
    const items = Array.from({ length: 1 + random.below(8) }, () => ({
      op: random.pick([WriteOp.insertIfAbsent, WriteOp.replace, WriteOp.deleteKey]),
      key: random.below(KEYS),
      payload: random.below(100),
      at: random.chance(0.2) ? 0 : now() + random.below(6000) - 300,
    }))
    const expected = items.map((item) => model.write(item))
    t.same(await write(owner, items), expected)
    for (const clock of clocks.values()) clock.pass(random.pick([0, 0.001, 0.4, 2]))
    model.expire(now())
    t.same(await contents(owner), model.contents())
    if (random.chance(0.1)) {
      const other = random.pick(names.filter((one) => one !== name))
      await set.stop(other)
      // Some times it has lost its disk.
      if (random.chance(0.5)) set.directories.set(other, `${t.testdirName}/${other}-${step}`)
      await start(other)
    }
    if (!random.chance(0.3)) continue
    await followed()
    for (const [node, { engine }] of set.nodes) t.same(await contents(engine), model.contents(), node)
  }
})

t.test('what nobody asks for leaves followers, too', async (t) => {
  const { set, clocks, followed } = await startNodes(t)
  const owner = await set.give('now')
  await owner.createIndex(DEFINITION)
  const date = clocks.get('now')!.date()
  await write(owner, [put(1, date + 2000), put(2, 0)])
  await followed()
  const follower = set.nodes.get('ahead')!.engine
  clocks.get('ahead')!.pass(10)
  t.same(await keysOf(follower), [1, 2])
  clocks.get('now')!.pass(2)
  while ((await keysOf(follower)).includes(1)) await new Promise((resolve) => setTimeout(resolve, 2))
  t.same(await keysOf(follower), [2])
  t.same(await keysOf(owner), [2])
  const { offsets, ops } = await owner.index('a').feed.read(0, 10)
  t.same([[...offsets], ops.bytes.length], [[0, 2, 2], 2], 'a feed does not tell it')
})

t.test('an entry that could not be removed is not said to be gone', async (t) => {
  const set = new ReplicaSet(t, device)
  const clock = new HandClock()
  let isCut = false
  const face = set.log.face(() => {
    if (isCut) throw new Error('the connection was lost')
  })
  await set.start('a', face, clock)
  await set.start('b', undefined, clock)
  const owner = await set.give('a')
  await owner.createIndex(DEFINITION)
  await write(owner, [put(1, clock.date() + 1000), put(2, 0)])
  clock.pass(1)
  isCut = true
  await t.rejects(keysOf(owner), { message: /the connection was lost/ })
  isCut = false
  t.same(await keysOf(await set.give('b')), [2])
  await until(() => isUpToDate(set, set.nodes.get('a')!.node))
  t.same(await keysOf(owner), [2])
})
