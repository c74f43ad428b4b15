import t from 'tap'
import { asBytes } from '../../../protocol/columns.js'
import { type IndexDefinition, ResultCode, WriteOp } from '../../../protocol/types.js'
import type { Engine, EngineOptions } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { Random, seedOfRun } from '../../random.js'
import { HandClock } from './hand-clock.js'
import { openEngine, u32 } from './open-engine.js'

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

const definitions: IndexDefinition[] = [true, false].map((unique) => ({
  ...{ name: 'a', keyType: 'u32', payloadKind: 'u32', unique, ttl: 5 },
}))

for (const definition of definitions) {
  for (const structure of ['model', 'css', 'prefix'] as const) {
    const kind = `${definition.unique ? 'unique' : 'not unique'}, ${structure}`
    t.test(`entries leave at their time, whatever else happens: ${kind}`, async (t) => {
      const seed = seedOfRun()
      t.comment(`TEST_SEED=${seed}`)
      const random = new Random(seed)
      const clock = new HandClock()
      const options: Partial<EngineOptions> = {
        ...{ directory: t.testdir(), clock, snapshotLogBytes: 4000 },
        ...(structure === 'model' ? {} : { structures: prefixTrees }),
      }
      let engine = await openEngine(t, options)
      await engine.createIndex({ ...definition, ...(structure === 'model' ? {} : { structure }) })
      const model = new ExpiringModel(definition.unique)
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
}
