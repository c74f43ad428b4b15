import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import t from 'tap'
import { Store } from '../../persistence/store.js'
import {
  batch,
  collect,
  definition,
  digests,
  entriesByKeyspace,
  segmentOf,
  temporaryDirectory,
} from './store-helpers.js'

t.test('indexes are kept, with ids that are never used again', async (t) => {
  const directory = join(temporaryDirectory(t), 'not', 'there', 'yet')
  const store = await Store.open(directory)
  const a = await store.createIndex(definition('a'))
  const b = await store.createIndex({
    ...definition('b'),
    keyType: 'f32',
    payloadKind: 'fixed(12)',
    unique: true,
    layout: 'full',
    partitionLevels: 8,
    linked: true,
  })
  t.notSame(a.seed, b.seed)
  await t.rejects(store.createIndex(definition('a')), { code: 'INDEX_EXISTS' })
  const both = await Promise.allSettled([1, 2].map(() => store.createIndex(definition('c'))))
  t.match(both, [{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'INDEX_EXISTS' } }])
  await store.drop(3)
  await t.rejects(store.drop(3), { code: 'UNKNOWN_INDEX' })
  await store.close()

  const again = await Store.open(directory)
  t.strictSame(again.indexes(), [a, b])
  t.equal((await again.createIndex(definition('c'))).id, 4)
  await again.close()
})

t.test('a dropped index leaves nothing, even when its removal was cut short', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const kept = await store.createIndex(definition('kept'))
  const dropped = await store.createIndex(definition('dropped'))
  for (const { id } of [kept, dropped]) {
    await store.log.append(id, { ...batch(1), segment: segmentOf(0, [Buffer.from('payload')]) })
    await store.snapshots.write(id, 1, {}, [])
  }
  await store.drop(dropped.id)
  const removed = t.rejects(store.log.append(dropped.id, batch(2)), { code: 'UNKNOWN_INDEX' })
  await store.close()
  await removed

  const again = await Store.open(directory)
  await again.removed()
  t.same(again.indexes(), [kept])
  t.same(
    readdirSync(join(directory, 'snapshots')).map((name) => name.split('-')[0]),
    [String(kept.id)],
  )
  t.equal((await collect(again.log.read(kept.id, 0))).length, 1)
  await again.close()
  t.same(entriesByKeyspace(directory), { indexes: 2, log: 1, payloads: 1, snapshots: 1, outcomes: 0 })
})

t.test('foreign and damaged directories are refused and left as they are', async (t) => {
  const sound = temporaryDirectory(t)
  const store = await Store.open(sound)
  const { id } = await store.createIndex(definition('a'))
  await store.log.append(id, batch(1))
  await store.snapshots.write(id, 1, {}, [])
  await store.close()
  const cases: readonly (readonly [string, RegExp, (directory: string) => void | Promise<void>])[] = [
    [
      'other files',
      /holds notes.txt and is not a warpdex data directory/,
      (d) => writeFileSync(join(d, 'notes.txt'), 'mine'),
    ],
    [
      'an LMDB of another program',
      /not a warpdex data directory/,
      async (d) => {
        const other = open({ path: d, noSubdir: false })
        await other.put('a', 1)
        await other.close()
      },
    ],
    [
      'a newer format',
      /has data format 3, of a later release; this program reads format 2, so use the version that wrote it/,
      (d) => {
        cpSync(sound, d, { recursive: true })
        writeFileSync(join(d, 'warpdex.format'), 'warpdex data, format 3\n')
      },
    ],
    [
      'the format before',
      /has data format 1, of an earlier release; .* use the version that wrote it, or name an empty directory and load the data anew/,
      (d) => {
        cpSync(sound, d, { recursive: true })
        writeFileSync(join(d, 'warpdex.format'), 'warpdex data, format 1\n')
      },
    ],
    [
      'a damaged format file',
      /warpdex.format is damaged/,
      (d) => {
        cpSync(sound, d, { recursive: true })
        writeFileSync(join(d, 'warpdex.format'), 'wxrpdex data, format 2\n')
      },
    ],
    [
      'a missing data file',
      /data.mdb is missing/,
      (d) => {
        cpSync(sound, d, { recursive: true })
        rmSync(join(d, 'data.mdb'))
      },
    ],
    [
      'an empty data file',
      /data.mdb is missing or empty/,
      (d) => {
        cpSync(sound, d, { recursive: true })
        truncateSync(join(d, 'data.mdb'))
      },
    ],
    [
      'a new data file beside older snapshots',
      /1-1-\w+.snapshot is of an index that the data file has never had/,
      async (d) => {
        await (await Store.open(d)).close()
        cpSync(join(sound, 'snapshots'), join(d, 'snapshots'), { recursive: true })
      },
    ],
    [
      'a data file that is none',
      /data.mdb is damaged or no LMDB file/,
      (d) => {
        cpSync(sound, d, { recursive: true })
        writeFileSync(join(d, 'data.mdb'), 'x'.repeat(100_000))
      },
    ],
    [
      'a data file that is cut off',
      /data.mdb is cut off/,
      (d) => {
        cpSync(sound, d, { recursive: true })
        truncateSync(join(d, 'data.mdb'), 8192)
      },
    ],
    [
      'the data file of another program',
      /data file of another program/,
      async (d) => {
        cpSync(sound, d, { recursive: true })
        rmSync(join(d, 'data.mdb'))
        const other = open({ path: d, noSubdir: false, overlappingSync: false })
        await other.put('a', 1)
        await other.close()
      },
    ],
  ]
  for (const [what, message, make] of cases) {
    const directory = join(temporaryDirectory(t), 'data')
    mkdirSync(directory)
    await make(directory)
    const before = digests(directory)
    await t.rejects(Store.open(directory), { code: 'DAMAGED_FILE', message }, what)
    t.same(digests(directory), before, `${what}: untouched`)
  }
})

t.test('snapshots of dropped indexes are removed, also where no index is left', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  await store.log.append(id, batch(1))
  const { file } = await store.snapshots.write(id, 1, {}, [])
  const path = join(directory, 'snapshots', file)
  const content = readFileSync(path)
  await store.drop(id)
  await store.removed()
  await store.close()
  t.same(readdirSync(join(directory, 'snapshots')), [])
  // A power cut may bring the file back, since removing a name is not synced.
  writeFileSync(path, content)
  await (await Store.open(directory)).close()
  t.same(readdirSync(join(directory, 'snapshots')), [])
})

t.test('a directory whose making was cut short is taken for new', async (t) => {
  for (const dataFile of [undefined, 'data.mdb']) {
    const directory = temporaryDirectory(t)
    writeFileSync(join(directory, 'warpdex.format'), 'warpdex data, format 2\n')
    if (dataFile !== undefined) writeFileSync(join(directory, dataFile), '')
    const store = await Store.open(directory)
    t.same(store.indexes(), [])
    await store.close()
  }
})

t.test('a damaged definition is refused', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  await store.createIndex(definition('NAME-TO-DAMAGE'))
  await store.close()
  const path = join(directory, 'data.mdb')
  const data = readFileSync(path)
  for (let at = data.indexOf('NAME-TO'); at >= 0; at = data.indexOf('NAME-TO', at + 1)) data[at] ^= 1
  writeFileSync(path, data)
  await t.rejects(Store.open(directory), { code: 'DAMAGED_FILE', message: 'the definition of index 1' })
  await t.rejects(Store.open(directory), { code: 'DAMAGED_FILE' }, 'the directory was given up')
})
