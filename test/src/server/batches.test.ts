import t, { type Test } from 'tap'
import { encodeDataRequest } from '../../../protocol/data-frame.js'
import type { DataOp, SentColumns } from '../../../protocol/data-request.js'
import { encodeFrame, type Section } from '../../../protocol/frame.js'
import { RawClient } from './raw-client.js'
import { start } from './start.js'

function u32(...numbers: number[]): Section {
  return { type: 'u32', bytes: new Uint8Array(Uint32Array.from(numbers).buffer) }
}

function u8(...numbers: number[]): Section {
  return { type: 'u8', bytes: Uint8Array.from(numbers) }
}

interface Subject {
  readonly client: RawClient
  /** Sends a batch of these frames. */
  batch(id: number, fields: object, ...frames: readonly Uint8Array[]): ReturnType<RawClient['ask']>
  /** A part for one of two indexes. */
  part(index: 0 | 1, op: DataOp, count: number, columns: SentColumns, more?: object): Uint8Array
  payloads(): Promise<number[][]>
}

/** Connected to a server with two indexes and a relation. */
async function prepared(t: Test, options: Parameters<typeof start>[1] = {}): Promise<Subject> {
  const { url } = await start(t, options)
  const client = await RawClient.connect(t, url)
  await client.ask({ id: 0, op: 'hello', protocol: 2, client: 'c' })
  const names = ['a', 'b']
  const handles: object[] = []
  for (const index of names) {
    await client.ask({ id: 1, op: 'createIndex', index, keyType: 'u32', payloadKind: 'u32', unique: true })
    const { header } = await client.ask({ id: 2, op: 'open', index })
    handles.push({ handle: header.handle, generation: header.generation })
  }
  const columns = [{ name: 'u', type: 'u32' }]
  await client.ask({ id: 3, op: 'createRelation', relation: 'r', columns })
  return {
    client,
    batch: (id, fields, ...frames) => {
      const sections = frames.map((bytes, i) => [i, { type: 'bytes', bytes }] as const)
      return client.ask({ id, op: 'batch', ...fields }, Object.fromEntries(sections))
    },
    part: (index, op, count, columns, more = {}) =>
      encodeDataRequest({
        id: 0,
        op,
        count,
        columns,
        ...(handles[index] as { handle: number; generation: number }),
        ...more,
      }),
    payloads: async () => {
      const all: number[][] = []
      for (const index of names) {
        const { sections } = await client.ask({ id: 9, op: 'get', index }, { keys: u32(1, 2, 3) })
        all.push([...new Uint32Array(Uint8Array.from(sections.get('payloads')?.bytes ?? []).buffer)])
      }
      return all
    },
  }
}

const rows = (...numbers: number[]) =>
  encodeFrame(
    { id: 0, op: 'append', relation: 'r', rows: numbers.length, columns: ['u'] },
    { '0.values': u32(...numbers) },
  )

for (const ioThreads of [0, 1]) {
  void t.test(
    `a batch is done as a whole, once, or refused, with ${ioThreads} threads that listen`,
    async (t) => {
      const { client, batch, part, payloads } = await prepared(t, { ioThreads })
      const insert = (index: 0 | 1, key: number, payload: number) =>
        part(index, 'insert', 1, { keys: u32(key), payloads: u32(payload) }, { mode: 'replace' })
      const parts = [insert(0, 1, 10), rows(7, 8), insert(1, 1, 11)]
      const first = await batch(20, { writeId: 5 }, ...parts)
      t.match(first.header, { ok: true, appended: [{ first: 0, rows: 2 }] })
      t.same(first.sections.get('codes')?.bytes, Uint8Array.of(0, 0))
      const again = await batch(21, { writeId: 5 }, ...parts)
      t.same(again.header, { ...first.header, id: 21 })
      t.same(again.sections.get('codes')?.bytes, Uint8Array.of(0, 0), 'by the same id it is done once')
      t.same(await payloads(), [
        [10, 0, 0],
        [11, 0, 0],
      ])

      const conditions = { keys: u32(1, 2), conditions: u8(2, 0), payloads: u32(11, 0) }
      const held = await batch(22, {}, part(1, 'expect', 2, conditions), insert(0, 2, 20), insert(1, 2, 21))
      t.match(held.header, { ok: true, appended: [] })
      t.same(await payloads(), [
        [10, 20, 0],
        [11, 21, 0],
      ])
      const twice = await batch(
        23,
        {},
        part(0, 'expect', 1, { keys: u32(3), conditions: u8(0) }),
        part(1, 'expect', 2, conditions),
        insert(0, 3, 30),
        rows(9),
      )
      t.match(twice.header, {
        ok: false,
        error: { code: 'CONDITION_FAILED', item: 2, message: /condition 2 .* "b", wants no payload/ },
      })
      t.same(await payloads(), [
        [10, 20, 0],
        [11, 21, 0],
      ])
      t.match((await client.ask({ id: 24, op: 'readRelation', relation: 'r', limit: 10 })).header, {
        total: 2,
      })

      t.match((await batch(25, {})).header, { ok: true, appended: [] }, 'an empty one')
      const refused = async (code: string, message: RegExp, ...frames: Uint8Array[]) =>
        t.match((await batch(26, {}, ...frames)).header, { id: 26, ok: false, error: { code, message } })
      await refused(
        'BAD_REQUEST',
        /part 1 of a batch: get cannot be a part/,
        insert(0, 1, 1),
        part(1, 'get', 1, { keys: u32(1) }),
      )
      await refused(
        'BAD_REQUEST',
        /two parts of a batch have writes to the index/,
        insert(0, 1, 1),
        insert(0, 2, 1),
      )
      await refused('BAD_REQUEST', /two parts of a batch have rows for relation "r"/, rows(1), rows(1))
      await refused(
        'BAD_REQUEST',
        /those of the whole batch/,
        part(0, 'delete', 1, { keys: u32(1) }, { writeId: 1 }),
      )
      await refused(
        'BAD_REQUEST',
        /those of the whole batch/,
        part(0, 'delete', 1, { keys: u32(1) }, { deadline: 1 }),
      )
      await refused(
        'BAD_REQUEST',
        /openVersion cannot be a part/,
        encodeFrame({ id: 0, op: 'openVersion', version: 1 }),
      )
      await refused(
        'BAD_REQUEST',
        /batch cannot be a part/,
        encodeFrame({ id: 0, op: 'batch' }, { 0: { type: 'bytes', bytes: rows(1) } }),
      )
      await refused('BAD_REQUEST', /a frame of 0 bytes/, new Uint8Array(0))
      await refused(
        'BAD_REQUEST',
        /needs a column "payloads"/,
        part(0, 'expect', 1, { keys: u32(1), conditions: u8(2) }),
      )
      await refused(
        'BAD_REQUEST',
        /needs a column "sequences"/,
        part(0, 'expect', 1, { keys: u32(1), conditions: u8(3) }),
      )
      await refused(
        'BAD_REQUEST',
        /4 is not a kind of condition/,
        part(0, 'expect', 1, { keys: u32(1), conditions: u8(4) }),
      )
      await refused('UNKNOWN_INDEX', /handle/, part(0, 'delete', 1, { keys: u32(1) }, { handle: 77 }))
      await refused(
        'INDEX_CHANGED',
        /./,
        insert(1, 1, 1),
        part(0, 'delete', 1, { keys: u32(1) }, { generation: 77 }),
      )
      await refused(
        'TOO_LARGE',
        /more than the 64 parts/,
        ...Array.from({ length: 65 }, (_, i) => part(0, 'delete', 0, { keys: u32() }, { handle: i })),
      )
      const alone = await client.ask(
        { id: 27, op: 'expect', index: 'a' },
        { keys: u32(1), conditions: u8(0) },
      )
      t.match(alone.header, { ok: false, error: { code: 'BAD_REQUEST', message: /a part of a batch/ } })
      t.same(
        await payloads(),
        [
          [10, 20, 0],
          [11, 21, 0],
        ],
        'nothing of what was refused was done',
      )

      const conditional = [part(1, 'expect', 1, { keys: u32(3), conditions: u8(0) }), insert(0, 1, 10)]
      const done = await batch(28, { writeId: 6 }, ...conditional)
      t.match(done.header, { ok: true })
      await client.ask({ id: 29, op: 'dropIndex', index: 'b' })
      const repeated = await batch(30, { writeId: 6 }, ...conditional)
      t.same(repeated.header, { ...done.header, id: 30 }, 'also where conditions were on what is no more')
      t.same(repeated.sections.get('codes')?.bytes, Uint8Array.of(1))
      await refused('UNKNOWN_INDEX', /handle/, ...conditional)
    },
  )
}
