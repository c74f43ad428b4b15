import {
  cpSync,
  existsSync,
  mkdirSync,
  promises,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { backUpDirectory } from '../../../persistence/backup/backup.js'
import { restoreBackup, verify } from '../../../persistence/backup/restore.js'
import { LOCK_FILE } from '../../../persistence/disk/directory-lock.js'
import { MANIFEST_FILE, UNFINISHED_FILE } from '../../../persistence/disk/store-files.js'
import { Store } from '../../../persistence/store.js'
import { crashRecord } from '../crash-record.js'
import { definition, digests, hex, plain, temporaryDirectory } from '../store-helpers.js'

/** Appends records to an index until it is stopped, with snapshots and compactions in between. */
async function appendUntil(store: Store, id: number, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) await append(store, id)
}

async function append(store: Store, id: number): Promise<void> {
  const record = crashRecord(store.log.last(id) + 1, store.payloads.nextRow(id))
  const { position } = await store.log.append(id, {
    ...record,
    outcomes: [{ ...record.outcomes[0], client: `${id}` }],
  })
  if (position % 7 !== 0) return
  await store.snapshots.write(id, position, {}, [{ name: 'part', chunks: chunk(position) }])
  await store.snapshots.trimLog(id)
  await store.payloads.compact(id)
}

async function* chunk(position: number): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(100 + position).fill(position)
}

/** Checks that every index of a store holds the records up to some position, as they were written; returns these positions. */
async function positionsOf(t: Test, store: Store): Promise<number[]> {
  const positions: number[] = []
  for (const { id } of store.indexes()) {
    const { snapshot, damage } = await store.snapshots.newest(id)
    t.same(damage, [])
    const after = snapshot?.position ?? 0
    if (snapshot !== undefined) {
      const parts = []
      for await (const bytes of snapshot.reader.read('part')) parts.push(hex(bytes))
      t.same(parts, [Buffer.alloc(100 + after, after).toString('hex')])
    }
    let row = 0
    for (let position = 1; position <= after; position++) row += (position % 40) + 1
    let position = after
    for await (const entry of store.log.read(id, after)) {
      const expected = crashRecord(++position, row)
      t.same(plain(entry), plain(expected))
      const count = expected.segment.offsets.length - 1
      const rows = new Uint32Array(count * 2).map((_, i) => (i % 2 === 0 ? row + i / 2 : 0))
      t.equal(hex((await store.payloads.gather(id, { rows })).bytes), hex(expected.segment.bytes))
      t.same(store.outcomes.find(`${id}`, position)?.codes, expected.outcomes[0].codes)
      row += count
    }
    t.equal(position, store.log.last(id))
    positions.push(position)
  }
  return positions
}

t.test('a backup of a store that is written to holds one moment of it', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(join(directory, 'data'))
  t.teardown(() => store.close())
  const ids: number[] = []
  for (const name of ['a', 'b', 'c']) ids.push((await store.createIndex(definition(name))).id)
  for (let i = 0; i < 30; i++) for (const id of ids) await append(store, id)
  await store.drop(ids[2])

  const stop = new AbortController()
  const writers = ids.slice(0, 2).map((id) => appendUntil(store, id, stop.signal))
  for (let i = 0; i < 4; i++) {
    const before = ids.slice(0, 2).map((id) => store.log.last(id))
    const progress: number[] = []
    const backup = join(directory, `backup ${i}`)
    const made = store.backUp(backup, ({ done, total }) => progress.push(done / total))
    await t.rejects(store.backUp(join(directory, 'another')), {
      code: 'BAD_REQUEST',
      message: /another backup/,
    })
    const { manifest, findings, bytes } = await made
    const after = ids.slice(0, 2).map((id) => store.log.last(id))
    t.same(findings, [])
    t.ok(bytes > 10_000)
    t.ok(progress.length > 2 && progress.every((share) => share >= 0 && share <= 1))
    t.same((await verify(backup)).findings, [])

    const restored = join(directory, `restored ${i}`)
    t.same(await restoreBackup(backup, restored), manifest)
    const copy = await Store.open(restored)
    const positions = await positionsOf(t, copy)
    t.same(
      manifest.indexes.map(({ position }) => position),
      positions,
    )
    positions.forEach((position, index) => {
      t.ok(
        position >= before[index] && position <= after[index],
        `${before[index]} ≤ ${position} ≤ ${after[index]}`,
      )
    })
    await copy.close()
  }
  stop.abort()
  await Promise.all(writers)
  await store.close()
  t.same((await verify(join(directory, 'data'))).findings, [])
  t.same(
    readdirSync(directory).filter((name) => name.endsWith('.partial')),
    [],
  )
})

/** A closed store with one index, of which some positions are snapshots. */
async function closedStore(directory: string, records = 20): Promise<void> {
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  for (let i = 0; i < records; i++) await append(store, id)
  await store.close()
}

t.test('a backup of a directory whose server is stopped', async (t) => {
  const directory = temporaryDirectory(t)
  const data = join(directory, 'data')
  await closedStore(data)
  const before = digests(data)
  const backup = join(directory, 'backup')
  await backUpDirectory(data, backup)
  t.same(digests(data), before, 'the data is left as it was')
  await restoreBackup(backup, join(directory, 'restored'))
  const restored = await Store.open(join(directory, 'restored'))
  t.same(await positionsOf(t, restored), [20])
  await t.rejects(backUpDirectory(join(directory, 'restored'), join(directory, 'other')), {
    code: 'BAD_REQUEST',
    message: /has .* open/,
  })
  await t.rejects(verify(join(directory, 'restored')), { code: 'BAD_REQUEST', message: /has .* open/ })
  await restored.close()
})

t.test('what a backup does not write to, and a restoration neither', async (t) => {
  const directory = temporaryDirectory(t)
  const data = join(directory, 'data')
  await closedStore(data)
  const backup = join(directory, 'backup')
  mkdirSync(backup)
  await backUpDirectory(data, backup)
  const made = digests(backup)
  for (const [destination, message] of [
    [backup, /is there already/],
    [join(backup, MANIFEST_FILE), /is there already/],
    [join(directory, 'none', 'backup'), /make it first/],
    [join(data, 'backup'), /in the data directory/],
    [join(data, 'snapshots', 'backup'), /in the data directory/],
  ] as const) {
    await t.rejects(backUpDirectory(data, destination), { code: 'BAD_REQUEST', message })
  }
  await t.rejects(restoreBackup(backup, data), { code: 'BAD_REQUEST', message: /holds data already/ })
  await t.rejects(restoreBackup(data, join(directory, 'new')), {
    code: 'DAMAGED_FILE',
    message: /not a backup/,
  })
  t.notOk(existsSync(join(directory, 'new')))
  const other = join(directory, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'letter.txt'), 'mine')
  await t.rejects(restoreBackup(backup, other), { code: 'DAMAGED_FILE', message: /letter\.txt/ })
  t.same(readdirSync(other), ['letter.txt'])
  await t.rejects(Store.open(backup), { code: 'DAMAGED_FILE', message: /is a backup.*restore/ })
  await t.rejects(verify(join(directory, 'none')), { code: 'BAD_REQUEST' })
  t.same(digests(backup), made)
})

t.test('of two backups with one name the first is whole, and the second none', async (t) => {
  const directory = temporaryDirectory(t)
  for (const name of ['one', 'two']) await closedStore(join(directory, name))
  const backup = join(directory, 'backup')
  const { rm } = promises
  let second: Promise<unknown> | undefined
  t.teardown(() => {
    promises.rm = rm
    syncBuiltinESMExports()
  })
  promises.rm = async (...given) => {
    await rm(...given)
    if (second !== undefined || !String(given[0]).endsWith(LOCK_FILE)) return
    second = backUpDirectory(join(directory, 'two'), backup)
    await Promise.race([second.catch(() => {}), setTimeout(20)])
  }
  syncBuiltinESMExports()
  const { manifest } = await backUpDirectory(join(directory, 'one'), backup)
  await t.rejects(second ?? Promise.resolve(), { code: 'BAD_REQUEST', message: /is there already/ })
  const verified = await verify(backup)
  t.same(verified.findings, [])
  t.same(verified.manifest, manifest)
})

t.test('a restoration leaves alone what came into its folder while the backup was checked', async (t) => {
  const directory = temporaryDirectory(t)
  const data = join(directory, 'data')
  await closedStore(data)
  const backup = join(directory, 'backup')
  await backUpDirectory(data, backup)
  const target = join(directory, 'target')
  let hasCome = false
  const restoring = restoreBackup(backup, target, {
    onProgress: () => {
      if (!hasCome) cpSync(data, target, { recursive: true })
      hasCome = true
    },
  })
  await t.rejects(restoring, { code: 'BAD_REQUEST', message: /holds data already/ })
  const there = await Store.open(target)
  t.same(await positionsOf(t, there), [20])
  await there.close()
})

t.test('a backup that was cut off is none, and the next one takes its place', async (t) => {
  const directory = temporaryDirectory(t)
  const data = join(directory, 'data')
  await closedStore(data)
  const stop = new AbortController()
  const reason = new Error('enough')
  await t.rejects(
    backUpDirectory(data, join(directory, 'backup'), {
      stop: stop.signal,
      onProgress: () => stop.abort(reason),
    }),
    reason,
  )
  t.same(readdirSync(directory), ['data'])
  const backup = join(directory, 'backup')
  const draft = `${backup}.partial`
  let cutOff = false
  await backUpDirectory(data, backup, {
    onProgress: () => {
      if (!cutOff) cpSync(draft, join(directory, 'left'), { recursive: true })
      cutOff = true
    },
  })
  t.same(readdirSync(backup).sort(), ['data.mdb', 'snapshots', MANIFEST_FILE])
  renameSync(backup, join(directory, 'first'))
  renameSync(join(directory, 'left'), draft)
  t.ok(readdirSync(draft).includes('data.mdb'))
  writeFileSync(join(draft, 'rest'), 'of it')
  await backUpDirectory(data, backup)
  t.same((await verify(backup)).findings, [])
  t.same(readdirSync(backup).sort(), ['data.mdb', 'snapshots', MANIFEST_FILE])
  t.same(readdirSync(directory).sort(), ['backup', 'data', 'first'])
})

t.test('what is no unfinished backup is never taken for one', async (t) => {
  const directory = temporaryDirectory(t)
  const data = join(directory, 'data')
  await closedStore(data)
  const backup = join(directory, 'backup')
  const draft = `${backup}.partial`
  for (const name of [draft, `${backup}.PARTIAL`, `${draft}/`]) {
    await t.rejects(backUpDirectory(data, name), { code: 'BAD_REQUEST', message: /ends in \.partial/ })
  }
  t.same(readdirSync(directory), ['data'])
  await backUpDirectory(data, backup)
  renameSync(backup, draft)
  const before = digests(draft)
  const inTheWay = {
    code: 'BAD_REQUEST',
    message: new RegExp(`${draft} is .* no ${UNFINISHED_FILE}; move it`),
  }
  await t.rejects(backUpDirectory(data, backup), inTheWay)
  t.same(digests(draft), before)
  rmSync(draft, { recursive: true })
  writeFileSync(draft, 'a letter')
  await t.rejects(backUpDirectory(data, backup), inTheWay)
  t.equal(readFileSync(draft, 'utf8'), 'a letter')
  rmSync(draft)
  mkdirSync(draft)
  await backUpDirectory(data, backup)
  t.same(readdirSync(directory).sort(), ['backup', 'data'])
})

t.test('a store that is closed gives the backup up that is being made', async (t) => {
  const directory = temporaryDirectory(t)
  await closedStore(join(directory, 'data'))
  const store = await Store.open(join(directory, 'data'))
  const backup = store.backUp(join(directory, 'backup'))
  const failed = t.rejects(backup, { code: 'SHUTTING_DOWN' })
  await store.close()
  await failed
  t.same(readdirSync(directory), ['data'])
  await t.rejects(store.backUp(join(directory, 'backup')), { code: 'SHUTTING_DOWN' })
})

t.test('a damaged backup is not restored, and damaged data not backed up', async (t) => {
  const directory = temporaryDirectory(t)
  const data = join(directory, 'data')
  await closedStore(data)
  const backup = join(directory, 'backup')
  const { manifest } = await backUpDirectory(data, backup)
  const names = [...manifest.files.map(({ path }) => path), MANIFEST_FILE]
  t.equal(names.length, 4, 'data file, two snapshots, manifest')
  for (const name of names) {
    const path = join(backup, name)
    const whole = readFileSync(path)
    for (const at of [0, whole.length >> 1, whole.length - 2]) {
      const flipped = Buffer.from(whole)
      flipped[at] ^= 1
      writeFileSync(path, flipped)
      await t.rejects(
        restoreBackup(backup, join(directory, 'restored')),
        { code: 'DAMAGED_FILE' },
        `${name} ${at}`,
      )
    }
    truncateSync(path, whole.length - 1)
    await t.rejects(restoreBackup(backup, join(directory, 'restored')), { code: 'DAMAGED_FILE' })
    writeFileSync(path, whole)
  }
  t.notOk(existsSync(join(directory, 'restored')))
  t.same((await verify(backup)).findings, [])

  truncateSync(join(data, 'data.mdb'), 3 * 4096)
  await t.rejects(backUpDirectory(data, join(directory, 'second')), {
    code: 'DAMAGED_FILE',
    message: /not backed up/,
  })
  t.same(readdirSync(directory).sort(), ['backup', 'data'])
})
