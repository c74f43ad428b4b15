import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SnapshotThread } from '../../../persistence/snapshots/snapshot-thread.js'
import { Store } from '../../../persistence/store.js'
import { collect, definition, temporaryDirectory } from '../store-helpers.js'
import { parts } from './snapshot-parts.js'

t.test('several snapshots by one thread, and one after its end', async (t) => {
  const directory = temporaryDirectory(t)
  const snapshotThread = new SnapshotThread(() => {})
  const store = await Store.open(directory, { snapshotThread })
  const names = ['a', 'b', 'c', 'd']
  const stored = await Promise.all(names.map((name) => store.createIndex(definition(name))))
  const bytes = stored.map(({ id }) => new Uint8Array(1_000_000).fill(id))
  await Promise.all(stored.map(({ id }, i) => store.snapshots.write(id, 0, {}, parts({ all: bytes[i] }))))
  for (const [i, { id }] of stored.entries()) {
    const { snapshot } = await store.snapshots.newest(id)
    t.ok(Buffer.concat(await collect(snapshot!.reader.read('all'))).equals(bytes[i]))
  }

  const [{ id }] = stored
  await t.rejects(
    store.snapshots.write(id, 1, () => {}, []),
    { code: 'INTERNAL', message: /could not be cloned/ },
  )
  let giveUp = () => {}
  const givenUp = new Promise<void>((resolve) => {
    giveUp = resolve
  })
  const cut = {
    name: 'nodes',
    chunks: (async function* () {
      try {
        yield new Uint8Array(10)
        await snapshotThread.stop()
        yield new Uint8Array(10)
      } finally {
        giveUp()
      }
    })(),
  }
  const error = {
    code: 'INTERNAL',
    message: /1-1-.*\.snapshot could not be written: .*thread for snapshots ended/,
  }
  await t.rejects(store.snapshots.write(id, 1, {}, [cut]), error)
  t.same(
    readdirSync(join(directory, 'snapshots')).filter((name) => name.endsWith('.tmp')),
    [],
    'of a draft that the thread has left nothing stays',
  )
  await givenUp
  await snapshotThread.stop()
  await store.snapshots.write(id, 2, {}, parts({ all: bytes[0] }))
  const { snapshot } = await store.snapshots.newest(id)
  t.equal(snapshot?.position, 2)
  await store.close()
})
