import { promises, readdirSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Store } from '../../persistence/store.js'
import { temporaryDirectory } from './store-helpers.js'

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
  const refused = { code: 'BAD_REQUEST', message: /cannot be the data directory \(ENOTDIR\): .* no folder/ }
  await t.rejects(Store.open(file), refused)
  await t.rejects(Store.open(join(file, 'below')), refused)
  if (process.platform !== 'linux') return
  const nowhere = Store.open('/proc/warpdex/below')
  await t.rejects(nowhere, { code: 'BAD_REQUEST', message: /\(ENOENT\): no folder can be made there/ })
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
