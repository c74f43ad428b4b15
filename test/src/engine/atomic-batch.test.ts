import t, { type Test } from 'tap'
import { columnOf } from '../../../protocol/columns.js'
import type { RelationDefinition } from '../../../protocol/relation.js'
import { packBatch } from '../../../protocol/relation-values.js'
import { Condition, type IndexDefinition, ResultCode, WriteOp } from '../../../protocol/types.js'
import type { AtomicBatch } from '../../../src/engine/atomic-batch.js'
import type { Engine } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { Random, seedOfRun } from '../../random.js'
import { openEngine } from './open-engine.js'

/** What is written to: indexes of several kinds, and a relation with an index over its column. */
const INDEXES: readonly IndexDefinition[] = [
  { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: true },
  { name: 'lists', keyType: 'u32', payloadKind: 'u32', unique: false },
  { name: 'texts', keyType: 'string', payloadKind: 'bytes', unique: true },
]
const OVER = 'by stamp'
const ROWS: RelationDefinition = { name: 'rows', columns: [{ name: 'stamp', type: 'u32', nullable: false }] }
/** The key to which every batch that writes to an index puts its stamp. */
const SENTINEL = 0
const KEYS = 12

interface Item {
  readonly op: WriteOp
  readonly key: number
  readonly payload: number
}

interface Expected {
  readonly kind: Condition
  readonly key: number
  readonly payload: number
}

interface Planned {
  readonly stamp: number
  readonly items: ReadonlyMap<string, readonly Item[]>
  readonly conditions: ReadonlyMap<string, readonly Expected[]>
  readonly rows: number
}

const isText = (name: string) => name === 'texts'
const u32 = (...values: number[]) => ({ bytes: new Uint8Array(Uint32Array.from(values).buffer), width: 4 })
const text = (value: number) => Buffer.from(`value ${value}`)
const keysOf = (name: string, keys: readonly number[]) =>
  isText(name) ? columnOf(keys.map(text)) : u32(...keys)
const payloadsOf = keysOf

/** What must be there. */
class Model {
  readonly lists = new Map(INDEXES.map(({ name }) => [name, new Map<number, number[]>()]))
  readonly rows: number[] = []

  first(name: string, key: number): number | undefined {
    if (name === OVER) {
      const row = this.rows.indexOf(key)
      return row < 0 ? undefined : row
    }
    return this.lists.get(name)!.get(key)?.[0]
  }

  /** The number of the condition that fails; undefined where the batch is made. */
  failed({ conditions }: Planned): number | undefined {
    const all = [...conditions].flatMap(([name, list]) => list.map((each) => ({ name, ...each })))
    const at = all.findIndex(({ name, kind, key, payload }) => {
      const first = this.first(name, key)
      if (kind === Condition.absent) return first !== undefined
      return kind === Condition.present ? first === undefined : first !== payload
    })
    return at < 0 ? undefined : at
  }

  apply({ items, rows, stamp }: Planned): { codes: number[]; appended: object[] } {
    const codes = [...items].flatMap(([name, list]) => list.map((item) => this.#write(name, item)))
    const appended = rows === 0 ? [] : [{ first: this.rows.length, rows }]
    for (let i = 0; i < rows; i++) this.rows.push(stamp)
    return { codes, appended }
  }

  #write(name: string, { op, key, payload }: Item): number {
    const lists = this.lists.get(name)!
    const list = lists.get(key)
    if (op === WriteOp.deleteKey) return lists.delete(key) ? ResultCode.deleted : ResultCode.notFound
    if (op === WriteOp.replace || list === undefined) {
      lists.set(key, [payload])
      return list === undefined ? ResultCode.inserted : ResultCode.replaced
    }
    if (name !== 'lists') return ResultCode.exists
    list.push(payload)
    return ResultCode.inserted
  }
}

function plan(random: Random, stamp: number, model: Model): Planned {
  const shuffled = INDEXES.map(({ name }) => name).sort(() => random.below(3) - 1)
  const written = shuffled.filter(() => random.chance(0.7))
  const items = written.map((name) => {
    const list = Array.from({ length: random.below(5) }, () => ({
      op: random.pick([WriteOp.insert, WriteOp.replace, WriteOp.deleteKey]),
      key: 1 + random.below(KEYS),
      payload: random.below(4),
    }))
    return [name, [...list, { op: WriteOp.replace, key: SENTINEL, payload: stamp }]] as const
  })
  const conditions = [...shuffled, OVER]
    .filter(() => random.chance(0.4))
    .map((name) => {
      const list = Array.from({ length: 1 + random.below(2) }, () => {
        // Of rows those that the batches before this one may have brought.
        const key = name === OVER ? stamp - random.below(20) : 1 + random.below(KEYS)
        const first = model.first(name, key)
        // Most hold, as far as is known before what is under way.
        const right =
          first === undefined ? Condition.absent : random.pick([Condition.present, Condition.payload])
        const kind = random.chance(0.9)
          ? right
          : random.pick([Condition.absent, Condition.present, Condition.payload])
        return { kind, key, payload: random.chance(0.95) ? (first ?? 0) : 5 }
      })
      return [name, list] as const
    })
  return {
    stamp,
    items: new Map(items),
    conditions: new Map(conditions),
    rows: random.chance(0.4) ? 1 + random.below(3) : 0,
  }
}

function batchOf(engine: Engine, { items, conditions, rows, stamp }: Planned): AtomicBatch {
  return {
    writes: [...items].map(([name, list]) => ({
      index: engine.index(name),
      columns: {
        ops: Uint8Array.from(list, ({ op }) => op),
        keys: keysOf(
          name,
          list.map(({ key }) => key),
        ),
        payloads: payloadsOf(
          name,
          list.map(({ payload }) => payload),
        ),
      },
    })),
    conditions: [...conditions].map(([name, list]) => ({
      index: engine.index(name),
      keys: keysOf(
        name,
        list.map(({ key }) => key),
      ),
      conditions: {
        kinds: Uint8Array.from(list, ({ kind }) => kind),
        payloads: payloadsOf(
          name,
          list.map(({ payload }) => payload),
        ),
        sequences: undefined,
      },
    })),
    appends:
      rows === 0
        ? []
        : [{ relation: engine.relation('rows'), rows: packBatch({ stamp: Array(rows).fill(stamp) }, ROWS) }],
  }
}

/** All payloads of each key of an index. */
async function listsOf(engine: Engine, name: string): Promise<Map<number, number[]>> {
  const keys = Array.from({ length: KEYS + 1 }, (_, key) => key)
  const { offsets, payloads } = await engine
    .index(name)
    .read({ op: 'getAll', limit: 10_000 }, { keys: keysOf(name, keys) })
  const all = numbersOf(name, payloads)
  return new Map(
    keys.flatMap((key) =>
      offsets[key] === offsets[key + 1] ? [] : [[key, all.slice(offsets[key], offsets[key + 1])] as const],
    ),
  )
}

function numbersOf(
  name: string,
  { bytes, offsets }: { bytes: Uint8Array; offsets?: Uint32Array | undefined },
): number[] {
  if (!isText(name) || offsets === undefined) return [...new Uint32Array(new Uint8Array(bytes).buffer)]
  return Array.from({ length: offsets.length - 1 }, (_, i) =>
    Number(
      Buffer.from(bytes.subarray(offsets[i], offsets[i + 1]))
        .toString()
        .replace('value ', ''),
    ),
  )
}

async function check(t: Test, engine: Engine, model: Model, what: string): Promise<void> {
  for (const { name } of INDEXES) {
    const expected = new Map([...model.lists.get(name)!].sort(([a], [b]) => a - b))
    t.same(await listsOf(engine, name), expected, `${what}: ${name}`)
  }
  const { batch, total } = await engine.relation('rows').read({ columns: [], from: 0, limit: 100_000 })
  t.equal(total, model.rows.length)
  t.same(
    numbersOf('', { bytes: batch.columns.get('stamp')?.values ?? new Uint8Array() }),
    model.rows,
    `${what}: rows`,
  )
  const found = await engine.index(OVER).read({ op: 'countRanges', ranges: 1 }, {})
  t.equal(Number(found[0]), model.rows.length, `${what}: the index over rows`)
}

/** Reads the stamps of all indexes as of one moment, which must be those of one moment. */
async function readStamps(engine: Engine, number: number): Promise<number[]> {
  const id = { client: 'reader', number }
  engine.versions.open(id, 60)
  const version = engine.versions.use(id)
  const stamps: number[] = []
  for (const { name } of INDEXES) {
    const { found, payloads } = await engine
      .index(name)
      .read({ op: 'get' }, { keys: keysOf(name, [SENTINEL]) }, undefined, version)
    stamps.push((found[0]! & 1) === 1 ? numbersOf(name, payloads)[0]! : -1)
  }
  engine.versions.close(id)
  return stamps
}

async function run(t: Test, options: Parameters<typeof openEngine>[1], rounds: number): Promise<void> {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const directory = t.testdir()
  let engine = await openEngine(t, { ...options, directory })
  for (const definition of INDEXES) await engine.createIndex(definition)
  await engine.createRelation(ROWS)
  await engine.createRelationIndex({ name: OVER, relation: 'rows', columns: ['stamp'] })
  const model = new Model()
  let stamp = 1000
  let failed = 0
  for (let round = 0; round < rounds; round++) {
    const planned = Array.from({ length: 1 + random.below(4) }, () => plan(random, stamp++, model))
    const reading: Promise<number[]>[] = []
    const answers = planned.map((each) => {
      const answer = engine.writeBatch(batchOf(engine, each), { client: 'writer', number: each.stamp })
      reading.push(readStamps(engine, each.stamp))
      return answer.then(
        ({ codes, appended }) => ({ codes: [...codes], appended }),
        (error) => error,
      )
    })
    for (const [i, each] of planned.entries()) {
      const item = model.failed(each)
      const answer = await answers[i]
      if (item !== undefined) {
        failed++
        t.match(answer, { code: 'CONDITION_FAILED', item })
      } else t.same(answer, model.apply(each), `batch ${each.stamp}`)
      // The version was opened behind this batch and before the next.
      const stamps = INDEXES.map(({ name }) => model.first(name, SENTINEL) ?? -1)
      t.same(await reading[i], stamps, `what is seen after batch ${each.stamp}`)
      // Sent again it is answered as before, where it was made.
      if (item === undefined && each.items.size + each.rows > 0 && random.chance(0.2)) {
        const { codes, appended } = await engine.writeBatch(batchOf(engine, each), {
          client: 'writer',
          number: each.stamp,
        })
        t.same({ codes: [...codes], appended }, answer, 'sent again')
      }
    }
    if (round % 10 !== 9) continue
    await check(t, engine, model, `round ${round}`)
    if (random.chance(0.5)) await engine.snapshot()
    await engine.close()
    engine = await openEngine(t, { ...options, directory })
    await check(t, engine, model, `round ${round}, after a restart`)
  }
  t.ok(failed > 0)
}

t.test('batches over models do what a model does, also over restarts, and are never seen in part', (t) =>
  run(t, {}, 60),
)

t.test('the same on the device', (t) => run(t, { structures: prefixTrees }, 20))
