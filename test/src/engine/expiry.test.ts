import t from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { asBytes } from '../../../protocol/columns.js'
import { type IndexDefinition, ResultCode, WriteOp } from '../../../protocol/types.js'
import type { Engine, EngineOptions } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { everyOther, Random, seedOfRun } from '../../random.js'
import { separateDevices } from '../../separate-devices.js'
import { HandClock } from './hand-clock.js'
import { openEngine, u32 } from './open-engine.js'

separateDevices()

const KEYS = 60

const numbers = (...values: number[]) => ({ bytes: u32(...values), width: 4 })

/** Times at which items expire, 0 for never. */
const times = (...all: number[]) => ({
  times: asBytes(BigUint64Array.from(all, BigInt)),
  first: Math.min(...all.filter((time) => time > 0)),
})

interface Timed {
  readonly payload: number
  readonly at: number
}

/** What an index whose entries expire has to hold. */
class ExpiringModel {
  readonly #unique: boolean
  readonly #lists = new Map<number, Timed[]>()

  constructor(unique: boolean) {
    this.#unique = unique
  }

  /** One item of a batch, within which nothing leaves. */
  write(op: number, key: number, payload: number, at: number): number {
    const list = this.#lists.get(key) ?? []
    if (op === WriteOp.deleteKey || op === WriteOp.deletePair) {
      const kept = list.filter((one) => op === WriteOp.deletePair && one.payload !== payload)
      this.#lists.set(key, kept)
      return kept.length < list.length ? ResultCode.deleted : ResultCode.notFound
    }
    const appends = op === WriteOp.insert && !this.#unique
    if (list.length > 0 && op !== WriteOp.replace && !appends) return ResultCode.exists
    this.#lists.set(key, [...(op === WriteOp.replace ? [] : list), { payload, at }])
    return op === WriteOp.replace && list.length > 0 ? ResultCode.replaced : ResultCode.inserted
  }

  /** Has all leave whose time has come. */
  expire(now: number): void {
    for (const [key, list] of this.#lists)
      this.#lists.set(
        key,
        list.filter(({ at }) => at === 0 || at > now),
      )
  }

  contents(): number[][] {
    return Array.from({ length: KEYS }, (_, key) =>
      (this.#lists.get(key) ?? []).map(({ payload }) => payload),
    )
  }
}

/** The payloads of all keys, and how many entries scans and counts find. */
async function contents(engine: Engine, version?: number): Promise<number[][]> {
  const index = engine.index('a')
  const at = () => (version === undefined ? undefined : engine.versions.use({ client: 'c', number: version }))
  const keys = numbers(...Array.from({ length: KEYS }, (_, key) => key))
  const { offsets, payloads } = await index.read({ op: 'getAll', limit: 1 << 20 }, { keys }, undefined, at())
  const words = new Uint32Array(new Uint8Array(payloads.bytes).buffer)
  const [count] = await index.read({ op: 'countRanges', ranges: 1 }, {}, undefined, at())
  const page = await index.read({ op: 'scan', ranges: 1, limit: 1 << 16 }, {}, undefined, at())
  const scanned = Buffer.from(page.payloads.bytes).equals(Buffer.from(payloads.bytes))
  if (Number(count) !== words.length || !scanned) throw new Error('reads do not agree')
  return Array.from({ length: KEYS }, (_, key) => [...words.slice(offsets[key], offsets[key + 1])])
}

const KINDS = [true, false].flatMap((unique) =>
  (['model', 'css', 'prefix'] as const).map((structure) => ({ unique, structure })),
)

const seed = seedOfRun()
t.comment(`TEST_SEED=${seed}`)

for (const { unique, structure } of everyOther(KINDS, seed)) {
  const definition: IndexDefinition = { name: 'a', keyType: 'u32', payloadKind: 'u32', unique, ttl: 5 }
  const kind = `${unique ? 'unique' : 'not unique'}, ${structure}`
  t.test(`entries leave at their time, whatever else happens: ${kind}`, async (t) => {
    const random = new Random(seed)
    const clock = new HandClock()
    const options: Partial<EngineOptions> = {
      ...{ directory: t.testdir(), clock, snapshotLogBytes: 4000 },
      ...(structure === 'model' ? {} : { structures: prefixTrees }),
    }
    let engine = await openEngine(t, options)
    await engine.createIndex({ ...definition, ...(structure === 'model' ? {} : { structure }) })
    const model = new ExpiringModel(unique)
    let version: { number: number; expected: number[][] } | undefined
    for (let step = 0; step < 60; step++) {
      const now = clock.date()
      const count = random.pick([1, 30])
      const items = Array.from({ length: count }, () => ({
        op: random.below(WriteOp.deletePair + 1),
        key: random.below(KEYS),
        payload: random.below(3),
        at: random.chance(0.3) ? 0 : now + random.below(8000) - 200,
      }))
      // Some times the index's own.
      const usual = random.chance(0.3)
      const write = engine.index('a').write({
        ops: Uint8Array.from(items, ({ op }) => op),
        keys: numbers(...items.map(({ key }) => key)),
        payloads: numbers(...items.map(({ payload }) => payload)),
        ...(usual ? {} : { expireAt: times(...items.map(({ at }) => at)) }),
      })
      const expected = items.map(({ op, key, payload, at }) =>
        model.write(op, key, payload, usual ? now + 5000 : at),
      )
      t.same([...(await write)], expected)
      clock.pass(random.pick([0, 0.001, 0.7, 3]))
      model.expire(clock.date())
      if (random.chance(0.2)) {
        const from = random.below(KEYS)
        let gone = 0
        for (let key = from; key < KEYS; key++) {
          gone += model.contents()[key].length
          model.write(WriteOp.deleteKey, key, 0, 0)
        }
        t.equal(await engine.index('a').deleteRange({ from: u32(from) }), gone)
      }
      if (random.chance(0.2)) {
        if (version !== undefined) t.same(await contents(engine, version.number), version.expected)
        engine.openVersion({ client: 'c', number: step }, 60)
        version = { number: step, expected: model.contents() }
      }
      if (random.chance(0.1)) await engine.snapshot('a')
      if (random.chance(0.15)) {
        await engine.close()
        clock.pass(random.pick([0, 2]))
        model.expire(clock.date())
        engine = await openEngine(t, options)
        version = undefined
      }
      t.same(await contents(engine), model.contents())
      if (version !== undefined) t.same(await contents(engine, version.number), version.expected)
    }
    await engine.close()
  })
}

const timedIndex = (more: Partial<IndexDefinition> = {}): IndexDefinition => ({
  ...{ name: 'a', keyType: 'u32', payloadKind: 'u32', unique: true, ttl: 0 },
  ...more,
})

function write(engine: Engine, key: number, at: number): Promise<Uint8Array> {
  const index = engine.index('a')
  return index.write({
    ops: WriteOp.replace,
    keys: numbers(key),
    payloads: numbers(key),
    expireAt: times(at),
  })
}

const keysOf = async (engine: Engine) =>
  (await contents(engine)).flatMap((payloads, key) => (payloads.length > 0 ? [key] : []))

t.test(
  'where the clock is set back, nothing comes back; where it is set forward, what is due goes',
  async (t) => {
    const clock = new HandClock()
    const engine = await openEngine(t, { clock })
    await engine.createIndex(timedIndex())
    const start = clock.date()
    await write(engine, 1, start + 1000)
    await write(engine, 2, start + 10_000)
    clock.jump(5)
    t.same(await keysOf(engine), [2])
    clock.jump(-3600)
    t.same(await keysOf(engine), [2])
    // Its time is past, but by no clock that the index has seen.
    await write(engine, 3, start - 1000)
    t.same(await keysOf(engine), [2, 3])
    clock.jump(3600 + 6)
    t.same(await keysOf(engine), [])
    await engine.close()
  },
)

t.test('after the loss of a device what entries kept out before they went stays out', async (t) => {
  const clock = new HandClock()
  let device: Device | undefined
  const openDevice = async () => {
    device = await Device.open('software')
    return device
  }
  const engine = await openEngine(t, { clock, openDevice })
  await engine.createIndex(timedIndex())
  await write(engine, 1, clock.date() + 1000)
  await write(engine, 2, clock.date() + 3000)
  clock.pass(2)
  const insert = { ops: WriteOp.insert, keys: numbers(2), payloads: numbers(2) }
  t.same(await engine.index('a').write(insert), [ResultCode.exists])
  clock.pass(2)
  t.same(await keysOf(engine), [])
  device?.gpu.destroy()
  await device?.lost
  t.same(await keysOf(engine), [])
  await engine.close()
})

t.test('what nobody asks for is removed all the same', async (t) => {
  const clock = new HandClock()
  const engine = await openEngine(t, { clock })
  await engine.createIndex(timedIndex())
  await write(engine, 1, clock.date() + 2000)
  await write(engine, 2, 0)
  const figures = () => engine.index('a').stats()
  clock.pass(1.9)
  t.match(figures(), { payloads: 2, expired: 0 })
  clock.pass(2)
  await engine.index('a').ready()
  t.match(figures(), { payloads: 1, expired: 1 })
  await engine.close()
})

t.test(
  'a read version keeps what expires behind it before the removal that waits has its turn',
  async (t) => {
    const clock = new HandClock()
    const engine = await openEngine(t, { clock })
    await engine.createIndex(timedIndex())
    await write(engine, 1, clock.date() + 2000)
    await write(engine, 2, clock.date() + 4000)
    const { release } = await engine.index('a').holdToRead()
    clock.pass(3)
    engine.openVersion({ client: 'c', number: 1 }, 60)
    const seen = engine.versions.use({ client: 'c', number: 1 })
    clock.pass(3)
    const keys = numbers(1, 2)
    const asked = [seen, undefined].map((version) =>
      engine.index('a').read({ op: 'get' }, { keys }, undefined, version),
    )
    release()
    const [before, now] = await Promise.all(asked)
    t.same([before?.found, now?.found], [[0b10], [0]])
    await engine.close()
  },
)
