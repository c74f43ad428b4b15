import {
  chmodSync,
  chownSync,
  mkdirSync,
  promises,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { restoreBackup, verify } from '../../../persistence/backup/restore.js'
import { Store } from '../../../persistence/store.js'
import { definition, temporaryDirectory } from '../store-helpers.js'

interface DirectorySync {
  readonly directory: string
  /** The names in it at that time: those that a power cut leaves for certain. */
  readonly names: readonly string[]
}

/** Lists every sync of a directory from here to the end of the test. */
function watchSyncs(t: Test): readonly DirectorySync[] {
  const syncs: DirectorySync[] = []
  const { open } = promises
  promises.open = async (path, ...rest) => {
    const handle = await open(path, ...rest)
    const { sync } = handle
    handle.sync = async () => {
      const directory = String(path)
      if (statSync(directory).isDirectory()) syncs.push({ directory, names: readdirSync(directory) })
      await sync.call(handle)
    }
    return handle
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    promises.open = open
    syncBuiltinESMExports()
  })
  return syncs
}

t.test('what cannot be a data directory is refused with what to do', async (t) => {
  const parent = temporaryDirectory(t)
  const file = join(parent, 'file')
  writeFileSync(file, '')
  const refused = {
    code: 'BAD_REQUEST',
    message: /cannot be the data directory \(ENOTDIR\): .* not a folder/,
  }
  await t.rejects(Store.open(file), refused)
  await t.rejects(Store.open(join(file, 'below')), refused)
  if (process.platform !== 'linux') return
  const nowhere = Store.open('/proc/warpdex/below')
  await t.rejects(nowhere, { code: 'BAD_REQUEST', message: /\(ENOENT\): no folder can be made there/ })
})

const NOBODY = 65_534

/** Runs a task as a user who is bound by permissions, as root is not. */
async function bound<T>(task: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(NOBODY)
  try {
    return await task()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

/** A data directory with a snapshot, which whoever `bound` runs as may read and write, in a folder of its own. */
async function boundStore(t: Test): Promise<string> {
  const parent = temporaryDirectory(t)
  const directory = join(parent, 'data')
  mkdirSync(directory)
  if (process.geteuid?.() === 0) for (const path of [parent, directory]) chownSync(path, NOBODY, NOBODY)
  await bound(async () => {
    const store = await Store.open(directory)
    const { id } = await store.createIndex(definition('a'))
    await store.snapshots.write(id, 0, {}, [])
    await store.backUp(join(parent, 'backup'))
    await store.close()
  })
  return directory
}

t.test('what this user may not open is not called damaged', async (t) => {
  if (process.platform === 'win32') return t.comment('no such permissions there')
  const directory = await boundStore(t)
  const refused = async (path: string, mode: number, open: () => Promise<unknown>) => {
    const before = statSync(path).mode
    chmodSync(path, mode)
    const message = new RegExp(
      `${path} cannot be used \\(EACCES\\): this user may not read and write it; give`,
    )
    await bound(() => t.rejects(open(), { code: 'BAD_REQUEST', message }, `${path} ${mode.toString(8)}`))
    chmodSync(path, before)
  }
  for (const name of ['data.mdb', 'lock.mdb', 'snapshots', 'warpdex.format', 'warpdex.lock']) {
    await refused(join(directory, name), 0, () => Store.open(directory))
    if (name !== 'lock.mdb') await refused(join(directory, name), 0, () => verify(directory))
  }
  for (const name of ['data.mdb', 'lock.mdb']) {
    await refused(join(directory, name), 0o444, () => Store.open(directory))
  }
  const backup = join(directory, '../backup')
  const restore = () => restoreBackup(backup, join(directory, '../restored'))
  await refused(join(backup, 'warpdex-backup.json'), 0, restore)
  const [snapshot] = readdirSync(join(directory, 'snapshots')).map((name) =>
    join(directory, 'snapshots', name),
  )
  const store = await bound(() => Store.open(directory))
  chmodSync(snapshot, 0)
  const { damage } = await bound(() => store.snapshots.newest(store.indexes()[0].id))
  t.match(damage, [{ code: 'BAD_REQUEST', message: `${snapshot} cannot be used (EACCES)` }])
  await store.close()
  chmodSync(directory, 0o555)
  rmSync(join(directory, 'lock.mdb'))
  const message = /cannot be the data directory \(EACCES\): this user may not read and write it/
  await bound(() => t.rejects(Store.open(directory), { code: 'BAD_REQUEST', message }))
})

t.test('what is something else than a data directory has in its place is called damaged', async (t) => {
  const directory = temporaryDirectory(t)
  await (await Store.open(directory)).close()
  const refused = async (name: string, message: RegExp, replace: (path: string) => void) => {
    const path = join(directory, name)
    renameSync(path, `${directory}-aside`)
    replace(path)
    await t.rejects(Store.open(directory), { code: 'DAMAGED_FILE', message })
    await t.rejects(verify(directory), { code: 'DAMAGED_FILE', message })
    rmSync(path, { recursive: true })
    renameSync(`${directory}-aside`, path)
  }
  await refused('data.mdb', /data\.mdb cannot be used \(EISDIR\): it is a folder; put/, mkdirSync)
  await refused('snapshots', /snapshots cannot be used \(ENOTDIR\): it is not a folder; put/, (path) => {
    writeFileSync(path, '')
  })
  await (await Store.open(directory)).close()
})

t.test('when a new store is open, all of its names are durable', async (t) => {
  const parent = temporaryDirectory(t)
  const directory = join(parent, 'not', 'there')
  const syncs = watchSyncs(t)
  const store = await Store.open(directory)
  const isDurable = (inDirectory: string, name: string) =>
    syncs.some((one) => one.directory === inDirectory && one.names.includes(name))
  t.ok(isDurable(parent, 'not'))
  t.ok(isDurable(join(parent, 'not'), 'there'))
  for (const name of ['warpdex.format', 'data.mdb', 'snapshots']) t.ok(isDurable(directory, name), name)
  await store.close()
})

t.test('the name of the data file is durable before there are snapshots', async (t) => {
  const directory = temporaryDirectory(t)
  const syncs = watchSyncs(t)
  await (await Store.open(directory)).close()
  t.ok(syncs.some(({ names }) => names.includes('data.mdb') && !names.includes('snapshots')))
})

t.test('names that a killed process may have left unsynced are durable after the next start', async (t) => {
  const directory = temporaryDirectory(t)
  await (await Store.open(directory)).close()
  const syncs = watchSyncs(t)
  await (await Store.open(directory)).close()
  for (const name of ['data.mdb', 'snapshots']) t.ok(syncs.some(({ names }) => names.includes(name)))
})
