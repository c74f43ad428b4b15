import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { backUpDirectory } from '../../../../persistence/backup/backup.js'
import { restoreBackup } from '../../../../persistence/backup/restore.js'
import { Store } from '../../../../persistence/store.js'
import { openNats } from '../../../../src/cluster/nats.js'
import { openPlace } from '../../../../src/cluster/snapshots/open-place.js'
import { batch, definition, digests, temporaryDirectory } from '../../../persistence/store-helpers.js'
import { NatsServers, natsLacks } from '../nats-servers.js'
import { S3Server } from './s3-server.js'

const skip = natsLacks() ?? false

/** A data directory with a file that is larger than an object. */
async function makeStore(t: Test): Promise<string> {
  const directory = join(temporaryDirectory(t), 'data')
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  const { position } = await store.log.append(id, batch(1))
  const chunks = (async function* () {
    for (let i = 0; i < 9; i++) yield new Uint8Array(randomBytes(2 ** 20))
  })()
  await store.snapshots.write(id, position, {}, [{ name: 'part', chunks }])
  await store.close()
  return directory
}

async function connectNats(t: Test) {
  const { addresses: servers } = await NatsServers.start(t, 1)
  const nats = await openNats({ servers, monitors: '', credentials: '', unsafe: true, node: 'test' })
  t.teardown(() => nats.connection.close())
  return nats
}

t.test('snapshots are kept where the setting says, and come back whole', { skip }, async (t) => {
  const nats = await connectNats(t)
  const s3 = await S3Server.start(t)
  const data = await makeStore(t)
  const { 'lock.mdb': _lock, ...files } = digests(data)
  const folder = temporaryDirectory(t)
  const backUp = async (path: string) => {
    await backUpDirectory(data, path)
  }
  for (const where of ['nats', 's3://bucket/some/prefix/', `file://${folder}/files`, join(folder, 'paths')]) {
    const directory = join(temporaryDirectory(t), 'data')
    const place = await openPlace(where, { nats, replicaSet: 'main-0', directory })
    t.same(await place.positions(), [], where)
    for (const position of [99, 100]) await place.put(position, backUp)
    await place.put(100, () => Promise.reject(new Error('it is there')))
    const refused = () => Promise.reject(new Error('no space'))
    await t.rejects(place.put(101, refused), { message: 'no space' })
    const other = await openPlace(where, { nats, replicaSet: 'main-1', directory })
    t.same([await place.positions(), await other.positions()], [[100, 99], []], where)

    await place.fetch(100, async (path) => {
      await restoreBackup(path, directory)
    })
    t.same(digests(directory), files, where)
    await place.removeBefore(100)
    t.same(await place.positions(), [100])
    await t.rejects(place.fetch(99, () => restoreBackup('', '').then(() => {})))
    t.notOk(existsSync(`${directory}.snapshot`), 'what was on its way is gone')
  }
  const names = [...s3.objects.keys()].sort()
  t.match(names[0], /^\/bucket\/some\/prefix\/main-0\/100\/data\.mdb\/0$/)
  t.match(names.slice(1, 3).join(' '), /snapshot\/0 .*snapshot\/1$/, 'a large file is in several objects')
  t.match(names[3], /warpdex-backup.json$/)
  t.equal(names.length, 4)
})

t.test('a snapshot without its manifest is none, and goes with older ones', { skip }, async (t) => {
  const nats = await connectNats(t)
  const s3 = await S3Server.start(t)
  const directory = join(temporaryDirectory(t), 'data')
  const place = await openPlace('s3://bucket', { nats, replicaSet: 'main', directory })
  s3.objects.set('/bucket/main/5/data.mdb/0', Buffer.from('begun'))
  t.same(await place.positions(), [])
  await place.removeBefore(6)
  t.equal(s3.objects.size, 0)
  await t.rejects(openPlace('s3://', { nats, replicaSet: 'main', directory }), {
    code: 'BAD_REQUEST',
    message: /names no bucket/,
  })
})
