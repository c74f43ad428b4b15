import { readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { Change } from '../../../persistence/disk/committer.js'
import { FileRoom } from '../../../persistence/disk/file-room.js'
import { Store } from '../../../persistence/store.js'
import { LIMITS } from '../../../protocol/limits.js'
import {
  batch,
  bytesOf,
  collect,
  definition,
  plain,
  segmentOf,
  temporaryDirectory,
} from '../store-helpers.js'

t.test('records come back in order, also after the store was closed', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  const records = [
    batch(1),
    {
      ops: new Uint8Array([0, 3, 4]),
      keys: bytesOf(new Uint8Array(24).fill(9)),
      payloads: bytesOf(new Uint8Array(48).fill(7)),
    },
    { ops: 3 as const, keys: bytesOf(new Uint8Array(8).fill(1)) },
    batch(4, 50_000),
    { ops: 0 as const, keys: bytesOf(new Uint8Array(0)) },
    {
      ops: new Uint8Array([0, 3]),
      keys: { bytes: new Uint8Array(5).fill(9), offsets: Uint32Array.of(0, 5, 5) },
      payloads: bytesOf(new Uint8Array(3).fill(7)),
    },
    { ops: 3 as const, keys: { bytes: new Uint8Array(2).fill(1), offsets: Uint32Array.of(0, 0, 2) } },
  ]
  const positions = await Promise.all(records.map((record) => store.log.append(id, record)))
  t.same(
    positions.map(({ position }) => position),
    [1, 2, 3, 4, 5, 6, 7],
  )
  t.same((await collect(store.log.read(id, 0))).map(plain), records.map(plain))
  await store.close()

  const again = await Store.open(directory)
  const entries = await collect(again.log.read(id, 0))
  t.same(entries.map(plain), records.map(plain))
  t.same(
    entries.map(({ position, bytes }) => ({ position, bytes })),
    positions,
  )
  t.same(
    (await collect(again.log.read(id, 5))).map(({ position }) => position),
    [6, 7],
  )
  t.same(await collect(again.log.read(id, 7)), [])
  t.equal((await again.log.append(id, batch(6))).position, 8)
  await again.close()
})

t.test('logs of different indexes are apart', async (t) => {
  const store = await Store.open(temporaryDirectory(t))
  const a = await store.createIndex(definition('a'))
  const b = await store.createIndex(definition('b'))
  await Promise.all([store.log.append(a.id, batch(1)), store.log.append(b.id, batch(2))])
  t.same((await collect(store.log.read(a.id, 0))).map(plain), [plain(batch(1))])
  t.same((await collect(store.log.read(b.id, 0))).map(plain), [plain(batch(2))])
  await t.rejects(store.log.append(99, batch(1)), { code: 'UNKNOWN_INDEX' })
  await store.close()
  await t.rejects(store.log.append(a.id, batch(1)), { code: 'SHUTTING_DOWN' })
})

t.test('trimming keeps what follows, and the last record always', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  await Promise.all(Array.from({ length: 6000 }, (_, i) => store.log.append(id, batch(i, 1))))
  await store.log.trim(id, 5000)
  t.equal(store.log.first(id), 5001)
  t.equal((await collect(store.log.read(id, 5000))).length, 1000)
  await t.rejects(collect(store.log.read(id, 4999)), {
    code: 'DAMAGED_FILE',
    message: /position 5000 is missing/,
  })
  await store.log.trim(id, 6000)
  await store.close()

  const again = await Store.open(directory)
  t.equal(again.log.first(id), 6000)
  t.equal(again.log.last(id), 6000)
  t.equal((await again.log.append(id, batch(1))).position, 6001)
  await again.close()
})

t.test('a record too large for a transaction changes nothing', async (t) => {
  const store = await Store.open(temporaryDirectory(t))
  const { id } = await store.createIndex(definition('a'))
  const keys = bytesOf(new Uint8Array(LIMITS.transactionBytes))
  await t.rejects(store.log.append(id, { ops: 0, keys }), { code: 'TOO_LARGE' })
  t.equal((await store.log.append(id, batch(1))).position, 1)
  await store.close()
})

t.test('a flipped byte is found and named', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  const marked = (mark: string) => ({ ops: 0 as const, keys: bytesOf(Buffer.from(mark.repeat(400))) })
  await store.log.append(id, marked('AAAAAAAA'))
  await store.log.append(id, marked('BBBBBBBB'))
  await store.log.append(id, marked('CCCCCCCC'))
  await store.close()
  const path = join(directory, 'data.mdb')
  const data = readFileSync(path)
  for (let at = data.indexOf('BBBBBBBB'); at >= 0; at = data.indexOf('BBBBBBBB', at + 4096)) data[at + 3] ^= 1
  writeFileSync(path, data)

  const again = await Store.open(directory)
  const seen: number[] = []
  const reading = (async () => {
    for await (const { position } of again.log.read(id, 0)) seen.push(position)
  })()
  await t.rejects(reading, { code: 'DAMAGED_FILE', message: `index ${id} at position 2 does not match` })
  t.same(seen, [1])
  t.equal((await collect(again.log.read(id, 2))).length, 1)
  await again.close()
})

t.test('rows are dense: a segment that does not begin with the next row is refused', async (t) => {
  const store = await Store.open(temporaryDirectory(t))
  const { id } = await store.createIndex(definition('a'))
  const segment = segmentOf(0, [Buffer.from('one'), Buffer.from('two')])
  await store.log.append(id, { ...batch(1), segment })
  await t.rejects(store.log.append(id, { ...batch(2), segment }), {
    code: 'INTERNAL',
    message: /next row is 2/,
  })
  t.equal(store.payloads.nextRow(id), 2)
  t.equal(store.log.last(id), 1)
  await store.close()
})

t.test('what was stored stays when the commit right behind it finds no room', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  const { provide } = FileRoom.prototype
  let commits = 0
  t.intercept(FileRoom.prototype, 'provide', {
    value(this: FileRoom, changes: readonly Change[]) {
      if (++commits === 2) throw Object.assign(new Error('no room'), { errno: constants.errno.ENOSPC })
      provide.call(this, changes)
    },
  })
  const rows = (firstRow: number) => segmentOf(firstRow, [Buffer.from(`row ${firstRow}`)])
  const outcomes = [{ client: 'c', write: 1, codes: new Uint8Array(10) }]
  const first = store.log.append(id, { ...batch(1), segment: rows(0), outcomes })
  // The first one is on its way to the disk, so that this one has a commit of its own.
  await setImmediate()
  await t.rejects(store.log.append(id, { ...batch(2), segment: rows(1) }), { code: 'DISK_FULL' })
  t.equal((await first).position, 1)
  t.equal(store.payloads.nextRow(id), 1)
  t.equal(store.outcomes.find('c', 1)?.position, 1)
  await setTimeout(1100)
  t.equal((await store.log.append(id, { ...batch(3), segment: rows(1) })).position, 2)
  t.same((await collect(store.log.read(id, 0))).map(plain), [plain(batch(1)), plain(batch(3))])
  await store.close()
})
