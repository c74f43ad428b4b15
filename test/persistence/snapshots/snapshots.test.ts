import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { SnapshotThread } from '../../../persistence/snapshots/snapshot-thread.js'
import { Snapshots } from '../../../persistence/snapshots/snapshots.js'
import { Store, type StoreOptions } from '../../../persistence/store.js'
import { seedOfRun } from '../../random.js'
import {
  batch,
  collect,
  definition,
  digests,
  hex,
  randomNumbers,
  temporaryDirectory,
} from '../store-helpers.js'
import { chunksOf, parts } from './snapshot-parts.js'

const SEED = seedOfRun()

/** A store with an index, ten log records, and snapshots at some of their positions. */
async function storeWith(directory: string, positions: readonly number[]): Promise<number> {
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  for (let i = 0; i < 10; i++) await store.log.append(id, batch(i))
  for (const position of positions) {
    await store.snapshots.write(
      id,
      position,
      { position },
      parts({ nodes: new Uint8Array(300_000).fill(position) }),
    )
  }
  await store.close()
  return id
}

function snapshotFiles(directory: string): string[] {
  const ordered = readdirSync(join(directory, 'snapshots')).sort(
    (a, b) => Number(a.split('-')[1]) - Number(b.split('-')[1]),
  )
  return ordered.map((name) => join(directory, 'snapshots', name))
}

function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at < 0 ? bytes.length + at : at] ^= 1
  writeFileSync(path, bytes)
}

/** In the caller's thread, and in one for that. */
function withBothWriters(name: string, test: (t: Test, options: StoreOptions) => Promise<void>): void {
  t.test(name, (t) => test(t, {}))
  t.test(`${name}, by the thread for snapshots`, async (t) => {
    const warnings: string[] = []
    const snapshotThread = new SnapshotThread((message) => warnings.push(message))
    t.teardown(() => snapshotThread.stop())
    await test(t, { snapshotThread })
    t.same(warnings, [])
  })
}

withBothWriters('a snapshot comes back as it was written', async (t, options) => {
  t.comment(`TEST_SEED=${SEED}`)
  const random = randomNumbers(SEED)
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory, options)
  const { id } = await store.createIndex(definition('a'))
  t.same(await store.snapshots.newest(id), { damage: [] })
  const content = {
    nodes: new Uint8Array(9_000_000).map(() => random(256)),
    empty: new Uint8Array(0),
    tuples: new Uint8Array(1).fill(7),
  }
  const shared = new Uint8Array(new SharedArrayBuffer(content.nodes.length))
  shared.set(content.nodes)
  const big = { name: 'one chunk', chunks: chunksOf(shared, 9_000_000) }
  const meta = { levels: 8, name: 'tree', nested: { flag: true } }
  const unshared = { name: 'large', chunks: chunksOf(content.nodes, 9_000_000) }
  const info = await store.snapshots.write(id, 0, meta, [...parts(content), big, unshared])
  t.equal(info.bytes, readFileSync(join(directory, 'snapshots', info.file)).length)
  await store.close()

  const again = await Store.open(directory)
  const { snapshot, damage } = await again.snapshots.newest(id)
  t.same(damage, [])
  t.equal(snapshot?.position, 0)
  t.same(snapshot?.reader.meta, meta)
  t.same(snapshot?.reader.parts, ['nodes', 'empty', 'tuples', 'one chunk', 'large'])
  const read = async (name: string) => Buffer.concat(await collect(snapshot!.reader.read(name)))
  for (const [name, bytes] of Object.entries(content)) t.ok((await read(name)).equals(bytes), name)
  t.ok((await read('one chunk')).equals(content.nodes))
  t.ok((await read('large')).equals(content.nodes))
  await t.rejects(read('other'), { code: 'DAMAGED_FILE' })
  await again.close()
})

t.test('the two newest are kept, and the log is trimmed behind the older one', async (t) => {
  const directory = temporaryDirectory(t)
  const id = await storeWith(directory, [2])
  const store = await Store.open(directory)
  await store.snapshots.trimLog(id)
  t.equal(store.log.first(id), 1, 'one snapshot is not enough to trim')
  for (const position of [5, 5, 9]) await store.snapshots.write(id, position, {}, [])
  t.same(
    store.snapshots.list(id).map(({ position }) => position),
    [9, 5],
  )
  t.equal(snapshotFiles(directory).length, 2)
  await store.snapshots.trimLog(id)
  t.equal(store.log.first(id), 6)
  await store.close()
})

withBothWriters('a snapshot that fails leaves nothing behind', async (t, options) => {
  const directory = temporaryDirectory(t)
  const id = await storeWith(directory, [2])
  const before = snapshotFiles(directory)
  const store = await Store.open(directory, options)
  const failing = {
    name: 'nodes',
    chunks: (async function* () {
      yield new Uint8Array(10)
      throw new Error('device lost')
    })(),
  }
  const error = { code: 'INTERNAL', message: /1-5-.*\.snapshot could not be written: .*device lost/ }
  await t.rejects(store.snapshots.write(id, 5, {}, [failing]), error)
  t.same(snapshotFiles(directory), before)
  rmSync(join(directory, 'snapshots'), { recursive: true })
  const noFolder = { code: 'INTERNAL', message: /1-5-.*\.snapshot could not be written: .*ENOENT/ }
  await t.rejects(store.snapshots.write(id, 5, {}, []), noFolder)
  await store.close()
})

t.test('opening removes what a crash has left, and nothing else', async (t) => {
  const directory = temporaryDirectory(t)
  await storeWith(directory, [2])
  const before = snapshotFiles(directory)
  for (const name of ['1-4-00000000.snapshot.tmp', '1-4-00000000.snapshot', 'notes.txt']) {
    writeFileSync(join(directory, 'snapshots', name), 'x')
  }
  await (await Store.open(directory)).close()
  t.same(
    readdirSync(join(directory, 'snapshots')).sort(),
    [...before.map((path) => path.split('/').at(-1)), 'notes.txt'].sort(),
  )
})

const damages: readonly (readonly [string, (path: string) => void])[] = [
  ['flipped byte in its data', (path) => flipByte(path, 150_000)],
  ['flipped byte in a length', (path) => flipByte(path, 2)],
  ['flipped byte at its end', (path) => flipByte(path, -1)],
  ['cut end', (path) => truncateSync(path, 200_000)],
  ['cut at a frame', (path) => truncateSync(path, (readFileSync(path).readUInt32LE(0) + 4) * 2)],
  ['bytes after its end', (path) => writeFileSync(path, 'x', { flag: 'a' })],
  [
    'content of another snapshot',
    (path) => writeFileSync(path, readFileSync(snapshotFiles(join(path, '../..'))[0])),
  ],
]
for (const [damage, inflict] of damages) {
  t.test(`newest snapshot with ${damage}: the older one counts`, async (t) => {
    const directory = temporaryDirectory(t)
    const id = await storeWith(directory, [3, 7])
    inflict(snapshotFiles(directory)[1])
    const files = digests(join(directory, 'snapshots'))
    const store = await Store.open(directory)
    const found = await store.snapshots.newest(id)
    t.equal(found.snapshot?.position, 3)
    t.match(found.damage, [{ code: 'DAMAGED_FILE', message: `${id}-7-` }])
    const [nodes] = await collect(found.snapshot!.reader.read('nodes'))
    t.equal(hex(nodes), hex(new Uint8Array(100_000).fill(3)))
    await store.close()

    const again = await Store.open(directory)
    t.same((await again.snapshots.newest(id)).damage, [], 'it is reported once')
    for (const position of [8, 9, 10]) await again.snapshots.write(id, position, {}, [])
    await again.close()
    t.match(
      digests(join(directory, 'snapshots')),
      Object.fromEntries(Object.entries(files).slice(1)),
      'and left as it is',
    )
  })
}

t.test('all snapshots damaged: the log from its beginning, or else a refusal', async (t) => {
  const directory = temporaryDirectory(t)
  const id = await storeWith(directory, [3, 7])
  for (const path of snapshotFiles(directory)) flipByte(path, 100)
  const files = digests(join(directory, 'snapshots'))
  const store = await Store.open(directory)
  const found = await store.snapshots.newest(id)
  t.equal(found.snapshot, undefined)
  t.equal(found.damage.length, 2)
  t.equal((await collect(store.log.read(id, 0))).length, 10)
  await store.log.trim(id, 3)
  await t.rejects(store.snapshots.newest(id), { code: 'DAMAGED_FILE', message: /log begins at position 4/ })
  await store.close()
  t.same(digests(join(directory, 'snapshots')), files)
})

/** Makes a snapshot file one of another version, as the layout of records says: every frame is a u32 length and a record. */
function changeVersion(path: string): void {
  const bytes = readFileSync(path)
  const [index, position] = (path.split('/').at(-1) ?? '').split('-').map(Number)
  const key = Buffer.alloc(16)
  key.writeUInt32BE(index, 0)
  key.writeUInt32BE(position, 8)
  for (let frame = 0, at = 0; at < bytes.length; frame++) {
    const record = bytes.subarray(at + 4, at + 4 + bytes.readUInt32LE(at))
    at += 4 + record.length
    key.writeUInt32BE(frame, 12)
    record[7] = 99
    record.writeUInt32LE(crc32(record.subarray(4), crc32(key)), 0)
  }
  writeFileSync(path, bytes)
}

/** What keeps a sound file from being read; the file itself is kept under another name. */
const obstacles: readonly (readonly [string, string, RegExp, (path: string) => void])[] = [
  ['is not there', 'DAMAGED_FILE', /\(ENOENT\): it is missing/, () => {}],
  ['is a link to itself', 'DAMAGED_FILE', /\(ELOOP\): its links/, (path) => symlinkSync(path, path)],
  ['is a directory', 'DAMAGED_FILE', /\(EISDIR\): it is a folder/, (path) => mkdirSync(path)],
  [
    'has another version',
    'DAMAGED_FILE',
    /has version 99; this program reads version 1/,
    (path) => {
      writeFileSync(path, readFileSync(aside(path)))
      changeVersion(path)
    },
  ],
]

function aside(path: string): string {
  return `${path}.aside`
}

for (const [what, code, cause, inflict] of obstacles) {
  const obstruct = (path: string) => {
    renameSync(path, aside(path))
    inflict(path)
  }
  const mend = (path: string) => {
    rmSync(path, { recursive: true, force: true })
    renameSync(aside(path), path)
  }

  t.test(`newest snapshot ${what}: it is passed over until that is mended`, async (t) => {
    const directory = temporaryDirectory(t)
    const id = await storeWith(directory, [3, 7])
    const [, newest] = snapshotFiles(directory)
    obstruct(newest)
    for (let start = 0; start < 2; start++) {
      const store = await Store.open(directory)
      const { snapshot, damage } = await store.snapshots.newest(id)
      t.equal(snapshot?.position, 3)
      t.match(damage, [{ code, message: newest }])
      t.match(damage, [{ message: cause }])
      t.same((await store.snapshots.newest(id)).damage, [], 'one process reports it once')
      await store.close()
    }
    mend(newest)
    const store = await Store.open(directory)
    t.match(await store.snapshots.newest(id), { snapshot: { position: 7 }, damage: { length: 0 } })
    await store.close()
  })

  t.test(`every snapshot ${what}: refused with the cause until that is mended`, async (t) => {
    const directory = temporaryDirectory(t)
    const id = await storeWith(directory, [3, 7])
    const [older, newest] = snapshotFiles(directory)
    let store = await Store.open(directory)
    await store.snapshots.trimLog(id)
    t.equal(store.log.first(id), 4)
    for (const path of [older, newest]) obstruct(path)
    for (let start = 0; start < 2; start++) {
      for (const message of [older, newest, cause, /log begins at position 4/]) {
        await t.rejects(store.snapshots.newest(id), { code, message })
      }
      await store.close()
      store = await Store.open(directory)
    }
    await t.rejects(store.snapshots.newest(id), { code })
    mend(older)
    t.equal((await store.snapshots.newest(id)).snapshot?.position, 3, 'without another start')
    await store.close()
    mend(newest)
    store = await Store.open(directory)
    t.equal((await store.snapshots.newest(id)).snapshot?.position, 7)
    await store.close()
  })

  t.test(`newest snapshot ${what}: two others are kept beside it`, async (t) => {
    const directory = temporaryDirectory(t)
    const id = await storeWith(directory, [3, 7])
    const [, newest] = snapshotFiles(directory)
    obstruct(newest)
    const store = await Store.open(directory)
    await store.snapshots.newest(id)
    await store.snapshots.write(id, 9, {}, [])
    await store.snapshots.trimLog(id)
    t.equal(store.log.first(id), 4, 'the log still reaches back to the older one that can be read')
    t.same(
      store.snapshots.list(id).map(({ position }) => position),
      [9, 7, 3],
    )
    await store.close()
  })
}

t.test('marked snapshots that were mended count again, when no other is left', async (t) => {
  const directory = temporaryDirectory(t)
  const id = await storeWith(directory, [3, 7])
  const [older, newest] = snapshotFiles(directory)
  for (const path of [older, newest]) flipByte(path, 100)
  let store = await Store.open(directory)
  t.equal((await store.snapshots.newest(id)).damage.length, 2)
  await store.close()
  const marks = () => store.snapshots.list(id).map(({ position, damaged }) => [position, damaged === true])

  flipByte(older, 100)
  store = await Store.open(directory)
  t.same(marks(), [
    [7, true],
    [3, true],
  ])
  t.match(await store.snapshots.newest(id), { snapshot: { position: 3 }, damage: [{ code: 'DAMAGED_FILE' }] })
  await store.close()
  store = await Store.open(directory)
  t.same(marks(), [
    [7, true],
    [3, false],
  ])
  t.match(await store.snapshots.newest(id), { snapshot: { position: 3 }, damage: { length: 0 } })
  await store.close()
})

t.test('a snapshot that the log does not reach back to is of no use', async (t) => {
  const directory = temporaryDirectory(t)
  const id = await storeWith(directory, [3])
  const [first] = snapshotFiles(directory)
  flipByte(first, 100)
  const store = await Store.open(directory)
  t.equal((await store.snapshots.newest(id)).snapshot, undefined)
  for (const position of [7, 9]) await store.snapshots.write(id, position, {}, [])
  await store.snapshots.trimLog(id)
  flipByte(first, 100)
  const [, second, third] = snapshotFiles(directory)
  for (const path of [second, third]) flipByte(path, 10)
  await t.rejects(store.snapshots.newest(id), { code: 'DAMAGED_FILE', message: /log begins at position 8/ })
  flipByte(second, 10)
  t.equal((await store.snapshots.newest(id)).snapshot?.position, 7)
  await store.close()
})

t.test('a file that cannot be removed disturbs neither snapshots nor backups', async (t) => {
  const directory = temporaryDirectory(t)
  const id = await storeWith(join(directory, 'data'), [3, 5])
  const store = await Store.open(join(directory, 'data'))
  const [, oldest] = store.snapshots.list(id)
  const path = join(directory, 'data', 'snapshots', oldest.file)
  rmSync(path)
  mkdirSync(path)
  const take = (position: number) =>
    store.snapshots.write(id, position, { position }, parts({ nodes: new Uint8Array(1000).fill(position) }))
  await take(7)
  t.match(await store.snapshots.newest(id), { snapshot: { position: 7 }, damage: { length: 0 } })

  const [, next] = store.snapshots.list(id)
  const other = join(directory, 'data', 'snapshots', next.file)
  let taken: Promise<unknown> | undefined
  const { release } = Snapshots.prototype
  const released = t.intercept(Snapshots.prototype, 'release', {
    async value(this: Snapshots) {
      await taken
      rmSync(other)
      mkdirSync(other)
      await release.call(this)
    },
  })
  await store.backUp(join(directory, 'one'), () => {
    taken ??= take(8)
  })
  released.restore()
  await store.backUp(join(directory, 'two'))
  await store.close()
})
