import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ShardedTree } from '../../../gpu/index/shards/sharded-tree.js'
import { WriteLog } from '../../../persistence/log/write-log.js'
import { blankColumn, countOf } from '../../../protocol/columns.js'
import { LIMITS } from '../../../protocol/limits.js'
import { LoadError, type LoadResult } from '../../../protocol/load.js'
import { INSERT_MODES, MODE_OPS, ResultCode } from '../../../protocol/types.js'
import type { LoadBatch } from '../../../src/engine/index.js'
import { ModelStructure, modelStructures } from '../../model-structure.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { blobs, openEngine, texts, u32, values } from './open-engine.js'

const NUMBERS = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false } as const

const column = (...numbers: number[]) => ({ bytes: u32(...numbers), width: 4 })

function batch(keys: readonly number[], payloads: readonly number[] = keys): LoadBatch {
  return { keys: column(...keys), payloads: column(...payloads) }
}

/** Keys of which many come twice, in batches of any size. */
function randomBatches(random: Random, rows: number): { all: LoadBatch; batches: LoadBatch[] } {
  const keys = Array.from({ length: rows }, () => random.below(rows))
  const payloads = keys.map((_, i) => i)
  const batches: LoadBatch[] = []
  for (let start = 0; start < rows; ) {
    const end = Math.min(rows, start + random.below(40))
    batches.push(batch(keys.slice(start, end), payloads.slice(start, end)))
    start = end
  }
  return { all: batch(keys, payloads), batches }
}

t.test('a load does what an insert of all rows in order does', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const engine = await openEngine(t)
  const everything = { ranges: 1, from: undefined, to: undefined, tokens: undefined, limit: 1000 }
  for (const unique of [false, true]) {
    for (const mode of INSERT_MODES) {
      for (const [name, payloadKind] of [
        ['loaded', 'u32'],
        ['inserted', 'u32'],
      ] as const) {
        await engine.createIndex({ ...NUMBERS, name, payloadKind, unique })
      }
      const { all, batches } = randomBatches(random, 200)
      const [loaded, inserted] = [engine.index('loaded'), engine.index('inserted')]
      for (const index of [loaded, inserted]) await index.write({ ops: 0, ...batch([3, 5]) })
      const codes = await inserted.write({ ops: MODE_OPS[mode], ...all })
      const result = await loaded.bulkLoad(batches, { mode, chunkRows: 30 })
      const count = (code: number) => codes.filter((one) => one === code).length
      t.match(
        result,
        {
          rows: 200,
          inserted: count(ResultCode.inserted),
          replaced: count(ResultCode.replaced),
          existing: count(ResultCode.exists),
          refused: 0,
        },
        `${mode}, ${unique ? 'unique' : 'not unique'}`,
      )
      const contents = await Promise.all([loaded, inserted].map((index) => reads(index).scan(everything)))
      t.same(values(contents[0].keys), values(contents[1].keys))
      t.same(values(contents[0].payloads), values(contents[1].payloads))
      for (const name of ['loaded', 'inserted']) await engine.dropIndex(name)
    }
  }
})

t.test('one batch, no rows, and rows that are refused', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(NUMBERS)
  const numbers = engine.index('numbers')
  t.match(await numbers.bulkLoad(batch([1, 2])), { rows: 2, inserted: 2 })
  t.match(await numbers.bulkLoad([]), { rows: 0, inserted: 0 })
  t.match(await numbers.bulkLoad(batch([])), { rows: 0, inserted: 0 })
  await engine.createIndex({ ...NUMBERS, name: 'floats', keyType: 'f32' })
  const keys = { bytes: new Uint8Array(Float32Array.of(1, Number.NaN, 2).buffer), width: 4 }
  const payloads = column(1, 2, 3)
  t.match(await engine.index('floats').bulkLoad({ keys, payloads }), { rows: 3, inserted: 2, refused: 1 })
})

t.test('variable keys and payloads of kind bytes', async (t) => {
  const directory = t.testdir()
  const engine = await openEngine(t, { directory })
  await engine.createIndex({ ...NUMBERS, name: 'texts', keyType: 'string', payloadKind: 'bytes' })
  const index = engine.index('texts')
  const words = ['pear', '', 'fig', 'apple', 'fig', 'plum', 'quince']
  const load = words.map((word, i) => {
    const key = blobs(word)
    return { keys: key, payloads: blobs(`${i} ${word}`) }
  })
  t.match(await index.bulkLoad(load, { mode: 'ifAbsent', chunkRows: 3 }), {
    rows: 7,
    inserted: 6,
    existing: 1,
  })
  const { bytes, offsets } = blobs('fig', 'quince')
  t.same(texts(await reads(index).get(bytes, offsets)), ['2 fig', '6 quince'])
  await engine.close()
  const again = await openEngine(t, { directory })
  t.same(texts(await reads(again.index('texts')).get(bytes, offsets)), ['2 fig', '6 quince'])
})

t.test('chunks are log records, and reads see whole ones', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(NUMBERS)
  const index = engine.index('numbers')
  const counts: number[] = []
  const progress: number[] = []
  async function* source() {
    for (let i = 0; i < 12; i++) {
      yield batch([7, 7, 7, 7, 7])
      counts.push(...values(await reads(index).count(u32(7))))
    }
  }
  const result = await index.bulkLoad(source(), {
    chunkRows: 10,
    onProgress: ({ rows }) => progress.push(rows),
  })
  t.equal(result.rows, 60)
  t.same(progress, [10, 20, 30, 40, 50, 60])
  t.ok(
    counts.every((count, i) => count % 10 === 0 && count >= (counts[i - 1] ?? 0)),
    counts.join(),
  )
  t.equal(index.stats().logRecords, 6)
})

t.test('a load that fails stores its first chunks and says which', async (t) => {
  const prepared: number[] = []
  class Failing extends ModelStructure {
    override prepare(batch: Parameters<ModelStructure['prepare']>[0]) {
      prepared.push(countOf(batch.keys))
      if (values(batch.keys.bytes).includes(666)) throw new Error('on purpose')
      return super.prepare(batch)
    }
  }
  const engine = await openEngine(t, {
    structures: { ...modelStructures, create: async (_device, shape) => new Failing(shape) },
  })
  await engine.createIndex(NUMBERS)
  const index = engine.index('numbers')
  const stored = async (load: Promise<LoadResult>) => {
    const error = await load.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (!(error instanceof LoadError)) throw new Error('the load did not fail')
    return { rows: error.stored.rows, code: error.code, message: error.message }
  }
  const faulty = [batch([1, 2]), batch([3, 4]), batch([666, 5]), batch([6, 7]), batch([8, 9])]
  const failed = await stored(index.bulkLoad(faulty, { chunkRows: 2 }))
  t.match(failed, { rows: 4, code: 'INTERNAL', message: /on purpose; the first 4 rows/ })
  t.same(values(await reads(index).count(u32(1, 2, 3, 4, 5, 6, 7, 8, 9))), [1, 1, 1, 1, 0, 0, 0, 0, 0])
  t.match(await index.bulkLoad(batch([5, 6]), { chunkRows: 2 }), { rows: 2 })

  async function* broken() {
    yield batch([10, 11])
    yield batch([12])
    throw new Error('the source broke')
  }
  t.match(await stored(index.bulkLoad(broken(), { chunkRows: 2 })), { rows: 2, message: /the source broke/ })

  const uneven = { keys: column(1, 2), payloads: column(1) }
  t.match(await stored(index.bulkLoad(uneven)), {
    rows: 0,
    code: 'BAD_REQUEST',
    message: /2 keys came with 1/,
  })

  const control = new AbortController()
  async function* endless() {
    for (let key = 100; ; key += 2) yield batch([key, key + 1])
  }
  const cancelled = await stored(
    index.bulkLoad(endless(), {
      chunkRows: 2,
      signal: control.signal,
      onProgress: ({ rows }) => rows >= 10 && control.abort(),
    }),
  )
  t.equal(cancelled.code, 'CANCELLED')
  const after = reads(index).scan({
    ranges: 1,
    from: u32(100),
    to: undefined,
    tokens: undefined,
    limit: 1000,
  })
  t.equal((await after).keys.byteLength / 4, cancelled.rows, 'what is stored is what it says')
  t.match(await stored(index.bulkLoad(endless(), { signal: control.signal })), { rows: 0, code: 'CANCELLED' })

  const hanging = new AbortController()
  async function* hangs() {
    yield batch([1])
    await new Promise(() => {})
  }
  const waiting = stored(index.bulkLoad(hangs(), { signal: hanging.signal }))
  hanging.abort()
  t.match(await waiting, { code: 'CANCELLED' })
})

/** Runs a task before each record is logged. */
function beforeLogging(t: Test, task: () => Promise<void>): void {
  const { append } = WriteLog.prototype
  WriteLog.prototype.append = async function (this: WriteLog, ...given) {
    await task()
    return append.apply(this, given)
  }
  t.teardown(() => {
    WriteLog.prototype.append = append
  })
}

t.test('a load that cannot be logged is not seen', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(NUMBERS)
  const index = engine.index('numbers')
  let appended = 0
  beforeLogging(t, async () => {
    if (++appended === 3) throw new Error('the disk is full')
  })
  const chunks = Array.from({ length: 6 }, (_, i) => batch([i]))
  const error = await index.bulkLoad(chunks, { chunkRows: 1 }).catch((thrown: unknown) => thrown)
  t.match(error, { stored: { rows: 2 }, message: /the disk is full/ })
  t.same(
    values(await reads(index).count(u32(0, 1, 2, 3, 4, 5))),
    [1, 1, 0, 0, 0, 0],
    'it was rebuilt from the log',
  )
})

t.test('a chunk is on the device while the one before is logged, and reads wait for the log', async (t) => {
  let prepared = 0
  class Counting extends ModelStructure {
    override prepare(batch: Parameters<ModelStructure['prepare']>[0]) {
      prepared++
      return super.prepare(batch)
    }
  }
  const engine = await openEngine(t, {
    structures: { ...modelStructures, create: async (_device, shape) => new Counting(shape) },
  })
  await engine.createIndex(NUMBERS)
  const index = engine.index('numbers')
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  beforeLogging(t, () => gate)
  const chunks = Array.from({ length: 4 }, () => batch([7]))
  const load = index.bulkLoad(chunks, { chunkRows: 1 })
  let seen: number | undefined
  while (prepared < 2) await setImmediate()
  const read = reads(index)
    .count(u32(7))
    .then((counts) => {
      ;[seen] = values(counts)
    })
  for (let turn = 0; turn < 20; turn++) await setImmediate()
  t.equal(prepared, 2, 'one is logged, and one waits for its turn')
  t.equal(seen, undefined)
  open()
  await read
  t.ok(seen !== undefined && seen >= 2, `${seen} rows are seen`)
  t.match(await load, { rows: 4, inserted: 4 })
})

t.test('parts of a client: in order, once, and none after one that failed', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(NUMBERS)
  const index = engine.index('numbers')
  const part = (number: number, after: number | undefined, ...keys: number[]) =>
    index.load({ ops: 0, ...batch(keys) }, { after }, { client: 'c', number })
  const [one, two] = await Promise.all([part(1, undefined, 1, 2), part(2, 1, 3)])
  t.match([one, two], [{ rows: 2, inserted: 2 }, { rows: 1 }])
  const again = await Promise.all([part(1, undefined, 1, 2), part(3, 2, 4), part(3, 2, 4), part(4, 3, 5)])
  t.match(again, [{ rows: 2 }, { rows: 1 }, { rows: 1 }, { rows: 1 }])
  t.same(values(await reads(index).count(u32(1, 2, 3, 4, 5))), [1, 1, 1, 1, 1])
  await t.rejects(part(6, 5, 7), { code: 'CANCELLED', message: /before this one/ })
  const insert = index.write({ ops: 0, ...batch([9]) }, { client: 'c', number: 2 })
  await t.rejects(insert, { code: 'BAD_REQUEST', message: /another kind/ })
  const cancellation = { cancelled: true }
  const cancelled = index.load(
    { ops: 0, ...batch([6]) },
    { after: 4 },
    { client: 'c', number: 5 },
    cancellation,
  )
  const next = part(6, 5, 7)
  await t.rejects(cancelled, { code: 'CANCELLED' })
  await t.rejects(next, { code: 'CANCELLED' })
  t.same(values(await reads(index).count(u32(6, 7))), [0, 0])
})

t.test('parts that wait share a record, up to the size of a chunk', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(NUMBERS)
  const index = engine.index('numbers')
  const part = (count: number) => {
    const keys = blankColumn(count, 4)
    return index.load({ ops: 0, keys, payloads: keys }, {})
  }
  const first = part(1)
  const others = Array.from({ length: 5 }, () => part(3))
  const insert = index.write({ ops: 0, ...batch([1]) })
  await Promise.all([first, ...others, insert])
  t.ok((index.stats().logRecords as number) <= 3, `${index.stats().logRecords} records`)
  t.ok(LIMITS.loadItems > LIMITS.batchItems)
})

t.test(
  'chunks that are merged at once: reads between them, keys that come again, and a restart',
  async (t) => {
    const { mergedTuples } = LIMITS
    t.teardown(() => Object.assign(LIMITS, { mergedTuples }))
    Object.assign(LIMITS, { mergedTuples: 10 })
    const seed = seedOfRun()
    t.comment(`TEST_SEED=${seed}`)
    const random = new Random(seed)
    const directory = t.testdir()
    const open = () => openEngine(t, { directory, structures: ShardedTree })
    let engine = await open()
    await engine.createIndex(NUMBERS)
    const expected = new Map<number, number[]>()
    const parts = Array.from({ length: 14 }, (_, part) => {
      const keys = Array.from({ length: 100 + random.below(200) }, (_, i) => 7919 * (1000 * part + i))
      // Some chunks have keys of their own twice, or of chunks before them.
      if (part % 4 === 3) keys.push(keys[5], 7919 * 3, 7919 * 2000)
      return batch(
        keys,
        keys.map((key) => key + part),
      )
    })
    const everything = { ranges: 1, from: undefined, to: undefined, tokens: undefined, limit: 10_000 }
    const check = async (when: string) => {
      const { keys, payloads } = await reads(engine.index('numbers')).scan(everything)
      const entries = [...expected]
        .sort(([a], [b]) => a - b)
        .flatMap(([key, all]) => all.map((one) => [key, one]))
      const found = values(payloads)
      t.same(
        values(keys).map((key, i) => [key, found[i]]),
        entries,
        when,
      )
    }
    for (const [number, share] of [parts.slice(0, 6), parts.slice(6, 7), parts.slice(7)].entries()) {
      const loading = engine.index('numbers').bulkLoad(share, { chunkRows: 303 })
      if (number === 2) await reads(engine.index('numbers')).count(u32(7919))
      t.match(await loading, { refused: 0 })
      for (const { keys, payloads } of share) {
        const own = values(payloads.bytes)
        values(keys.bytes).forEach((key, i) => {
          expected.set(key, [...(expected.get(key) ?? []), own[i]])
        })
      }
      await check(`load ${number}`)
    }
    await engine.close()
    engine = await open()
    await check('after a restart')
  },
)

t.test('a load of columns that are not as the index has them is refused', async (t) => {
  const engine = await openEngine(t)
  await engine.createIndex(NUMBERS)
  const index = engine.index('numbers')
  const { keys, payloads } = batch([1, 2])
  const wide = { bytes: new Uint8Array(16), width: 8 }
  await t.rejects(index.bulkLoad({ keys: wide, payloads }), { message: /u32 keys, with 4 bytes each, not 8/ })
  await t.rejects(index.bulkLoad({ keys, payloads: wide }), {
    message: /u32 payloads, with 4 bytes each, not 8/,
  })
  const cut = { bytes: new Uint8Array(8), offsets: Uint32Array.of(0, 4, 8) }
  await t.rejects(index.bulkLoad({ keys, payloads: cut }), { message: /not offsets/ })
  await t.rejects(index.bulkLoad({ keys, payloads: column(1) }), { message: /2 keys came with 1 payloads/ })
  t.equal(index.stats().keys, 0)
})
