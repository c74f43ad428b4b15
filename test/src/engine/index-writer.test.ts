import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Store } from '../../../persistence/store.js'
import { asBytes, countOf } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { ResultCode, WriteOp } from '../../../protocol/types.js'
import { IndexWriter, type PendingWrite } from '../../../src/engine/index-writer.js'
import { ModelStructure } from '../../model-structure.js'

async function openWriter(t: Test) {
  const store = await Store.open(t.testdir())
  t.teardown(() => store.close())
  const definition = { name: 'i', keyType: 'u32', payloadKind: 'u32', unique: false } as const
  const shape = { keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 } as const
  const index = await store.createIndex(definition)
  const structure = new ModelStructure(shape)
  const writer = new IndexWriter(store, index, shape, () => {})
  /** When more writes come. */
  let arrival = new Promise<void>(() => {})
  let sound = Promise.resolve(true)
  /** Writes that come together, one for each list of keys. */
  const writeAll = (...lists: number[][]) => {
    const pending: PendingWrite[] = []
    const answers = lists.map(
      (keys) =>
        new Promise<Uint8Array>((resolve, reject) => {
          const column = { bytes: asBytes(Uint32Array.from(keys)), width: 4 }
          const columns = { ops: WriteOp.insert, keys: column, payloads: column }
          pending.push({
            columns,
            id: undefined,
            cancellation: undefined,
            resolve: ({ codes }) => resolve(codes ?? new Uint8Array(0)),
            reject,
          })
        }),
    )
    sound = writer.run(structure, pending, { arrival, goesOn: false })
    return answers
  }
  const write = (...keys: number[]) => writeAll(keys)[0]
  const expectMore = () => {
    arrival = Promise.resolve()
  }
  return {
    store,
    index,
    structure,
    writer,
    write,
    expectMore,
    writeAll,
    isSound: () => sound,
    log: () => store.log.last(index.id),
  }
}

t.test('a write that cannot be logged is reported and leaves no trace', async (t) => {
  const { store, structure, write, isSound } = await openWriter(t)
  t.same([...(await write(1))], [ResultCode.inserted])
  await store.close()
  await t.rejects(write(2), { code: 'SHUTTING_DOWN' })
  t.equal(await isSound(), true)
  t.equal(structure.stats().payloads, 1)
})

t.test('a write that is logged counts, even if the device fails to apply it', async (t) => {
  const { structure, write, isSound, log } = await openWriter(t)
  const prepare = structure.prepare.bind(structure)
  structure.prepare = async (batch) => ({
    ...(await prepare(batch)),
    apply: () => {
      throw new Error('on purpose')
    },
  })
  t.same([...(await write(1))], [ResultCode.inserted])
  t.equal(await isSound(), false, 'the structure must be rebuilt')
  t.equal(log(), 1)
})

t.test('no write is settled by a structure that lacks a logged one', async (t) => {
  const { structure, writeAll, isSound, log } = await openWriter(t)
  const prepare = structure.prepare.bind(structure)
  structure.prepare = async (batch) => {
    // Together they fail, alone the second does where it must not.
    if (countOf(batch.keys) > 1) throw new Error('on purpose')
    const prepared = await prepare(batch)
    const apply = () => {
      if (batch.keys.bytes[0] === 2) throw new Error('on purpose')
      prepared.apply()
    }
    return { ...prepared, apply }
  }
  const [first, second, third] = writeAll([1], [2], [3])
  t.same([...(await first)], [ResultCode.inserted])
  t.same([...(await second)], [ResultCode.inserted])
  await t.rejects(third, { code: 'DEVICE_LOST' })
  t.equal(await isSound(), false)
  t.equal(log(), 2, 'the third can be sent again')
})

t.test(
  'a write with others behind it is applied while it is being logged, and answered when it is',
  async (t) => {
    const { store, structure, writer, write, expectMore, log } = await openWriter(t)
    const append = store.log.append.bind(store.log)
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    store.log.append = async (index, record) => {
      await held
      return append(index, record)
    }
    expectMore()
    const first = write(1)
    let isAnswered = false
    void first.then(() => {
      isAnswered = true
    })
    while (structure.stats().payloads === 0) await setImmediate()
    await setImmediate()
    t.equal(isAnswered, false, 'applied, and not answered while the log is held up')
    letGo()
    await first
    t.equal(log(), 1)
    const second = write(2)
    t.same([...(await first), ...(await second)], [ResultCode.inserted, ResultCode.inserted])
    t.equal(await writer.settled(), true)
    t.equal(log(), 2)
  },
)

t.test('what was applied and could not be logged is fetched from disk again, once', async (t) => {
  const { store, structure, writer, write, expectMore, isSound } = await openWriter(t)
  store.log.append = () => Promise.reject(new WarpdexError('DISK_FULL', 'on purpose'))
  expectMore()
  await t.rejects(write(1), { code: 'DISK_FULL' })
  t.equal(await isSound(), false, 'the structure must be rebuilt')
  t.equal(await writer.settled(), false)
  t.equal(structure.stats().payloads, 1)
  await t.rejects(write(2), { code: 'DISK_FULL' })
  t.equal(await isSound(), true, 'the second one was not applied')
  t.equal(structure.stats().payloads, 1)
})

t.test(
  'groups take turns in memory for their columns, and each is logged and prepared as it came',
  async (t) => {
    const { store, index, structure, writeAll, expectMore, isSound } = await openWriter(t)
    const rows = 2 ** 17
    const memory: ArrayBufferLike[] = []
    const seen: Buffer[] = []
    structure.prepare = async ({ keys, payloads }) => {
      await setImmediate()
      memory.push(keys.bytes.buffer)
      return {
        codes: new Uint8Array(countOf(keys)),
        apply: () => seen.push(Buffer.from(keys.bytes), Buffer.from(payloads!.bytes)),
        discard: () => {},
      }
    }
    expectMore()
    const groups = Array.from({ length: 6 }, (_, group) =>
      [0, 1].map((write) => Array.from({ length: rows }, (_, i) => 2 * rows * group + rows * write + i)),
    )
    const answers: Promise<Uint8Array>[] = []
    for (const group of groups) {
      answers.push(...writeAll(...group))
      t.equal(await isSound(), true)
    }
    for (const codes of await Promise.all(answers)) t.equal(codes.length, rows)
    const expected = groups.map((group) => Buffer.from(Uint32Array.from(group.flat()).buffer))
    let record = 0
    for await (const { keys, payloads } of store.log.read(index.id, 0)) {
      for (const column of [keys.bytes, payloads!, seen[2 * record], seen[2 * record + 1]]) {
        t.ok(expected[record].equals(column))
      }
      record++
    }
    t.equal(record, groups.length)
    t.ok(new Set(memory).size < groups.length, 'memory was used again')
  },
)
