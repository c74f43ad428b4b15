import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ObjectPlace } from '../../../src/cluster/snapshots/object-place.js'
import { openS3Storage } from '../../../src/cluster/snapshots/s3-storage.js'
import { S3Server } from '../../src/cluster/snapshots/s3-server.js'
import { cliOf, serve } from './run-cli.js'

const directory = t.testdir()
const data = join(directory, 'data')
const backups = join(directory, 'backups')
mkdirSync(backups)

t.test('backup of a running server, verify, restore, and the same answers', async (t) => {
  const server = await serve(t, data, { WARPDEX_BACKUP_DIRECTORY: backups })
  const cli = cliOf({ WARPDEX_URL: server.url })
  await cli(['create', 'towns', '--key', 'string', '--payload', 'bytes'])
  await cli(['import', 'towns', '-'], 'Oslo\tcold\nRome\twarm\nOslo\tnorth\n')
  const listed = await cli(['entries', 'towns'])
  t.match(listed.out, /Oslo\tcold\nOslo\tnorth\nRome\twarm\n/)

  t.match(await cli(['backup', 'monday']), { code: 0, out: /backups\/monday: 1 index, .*checked/ })
  t.match(await cli(['backup']), { code: 0, out: /backups\/warpdex-20\d\d-.*Z: / })
  t.match(await cli(['backup', 'monday']), { code: 2, err: /there already/ })
  t.match(await cli(['backup', '../else']), { code: 2, err: /warpdex: a backup's name has/ })
  t.match(await cli(['backup', join(directory, 'else')]), {
    code: 2,
    err: /warpdex: a backup's name has/,
  })
  t.match(await cli(['backup', join(directory, 'else'), '--directory', data]), {
    code: 2,
    err: /has .* open/,
  })
  t.match(await cli(['verify', data]), { code: 2, err: /has .* open/ })
  const doctor = await cli(['doctor', '--directory', data, '--port', new URL(server.url).port])
  t.match(doctor, { code: 0, out: /warn +data directory +process \d+ on .* open/ })
  t.match(doctor.out, /warn +port .* is in use.*\n +→ that is right if it is the server/)
  await cli(['delete', 'towns', 'Oslo'])
  t.same(await server.stop('SIGTERM'), [0, null])

  t.match(await cli(['verify', join(backups, 'monday')]), { code: 0, out: /1 index, \d+ records: sound/ })
  t.match(await cli(['verify', data]), { code: 0, out: /data directory, .*: sound/ })
  const restored = join(directory, 'restored')
  t.match(await cli(['restore', join(backups, 'monday'), restored]), {
    code: 0,
    out: /1 index as they were/,
  })
  t.match(await cli(['restore', join(backups, 'monday'), data]), { code: 2, err: /holds data already/ })

  // As the owner of a replica set puts it there.
  await S3Server.start(t)
  const storage = await openS3Storage('s3://bucket/prefix', 'main-0')
  const monday = async (folder: string) => cpSync(join(backups, 'monday'), folder, { recursive: true })
  await new ObjectPlace(storage, join(directory, 'way')).put(7, monday)
  const fetched = join(directory, 'fetched')
  t.match(await cli(['restore', 's3://bucket/prefix/main-0', fetched]), { code: 0, out: /1 index as they/ })
  t.match(await cli(['restore', 's3://bucket/prefix/main-1', fetched]), {
    code: 2,
    err: /there is no snapshot/,
  })
  const other = await serve(t, restored)
  const again = cliOf({ WARPDEX_URL: other.url })
  t.same(await again(['entries', 'towns']), listed)
  t.match(await again(['backup', 'monday']), { code: 2, err: /--backup-directory/ })
  t.same(await other.stop('SIGTERM'), [0, null])

  const offline = join(backups, 'offline')
  t.match(await cli(['backup', offline, '--directory', restored]), { code: 0, out: /offline: 1 index,/ })
  const snapshot = readdirSync(join(offline, 'snapshots')).at(0)
  const damaged = join(offline, snapshot === undefined ? 'data.mdb' : join('snapshots', snapshot))
  const bytes = readFileSync(damaged)
  bytes[bytes.length >> 1] ^= 4
  writeFileSync(damaged, bytes)
  t.match(await cli(['verify', offline]), { code: 2, out: /lost: .*checksum; use another backup/ })
  t.match(JSON.parse((await cli(['verify', offline, '--json'])).out), { findings: [{ isLoss: true }] })
  t.match(await cli(['restore', offline, join(directory, 'third')]), { code: 2, err: /DAMAGED_FILE/ })
})
