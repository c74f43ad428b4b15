import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { childProgram } from '../../../bench/child-program.js'
import { backUpDirectory } from '../../../persistence/backup/backup.js'
import { verify } from '../../../persistence/backup/restore.js'
import { Store } from '../../../persistence/store.js'
import { temporaryDirectory } from '../store-helpers.js'

const PROGRAM = [process.execPath, ...process.execArgv, childProgram('test/persistence/append-forever')]
/** Runs a program where process numbers are others, as in a container. */
const APART = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child']

/** A process that has a directory open and writes to it. */
async function holder(t: Test, directory: string, prefix: readonly string[] = []): Promise<ChildProcess> {
  const [command, ...args] = [...prefix, ...PROGRAM, directory]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  child.stdout.resume()
  return child
}

/** Ends a process and all that hold its output. */
async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'close')
}

function works(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args).status === 0
}

t.test('one process at a time: another one is refused until the first has ended', async (t) => {
  const directory = temporaryDirectory(t)
  const child = await holder(t, directory)
  await t.rejects(Store.open(directory), {
    code: 'BAD_REQUEST',
    message: `process ${child.pid} on ${hostname()} has ${directory} open; stop it or use another data directory`,
  })
  await kill(child)
  await (await Store.open(directory)).close()
})

t.test('one opening at a time, also within a process', async (t) => {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  for (let i = 0; i < 2; i++) {
    await t.rejects(Store.open(directory), { code: 'BAD_REQUEST', message: `process ${process.pid} on` })
  }
  await store.close()
  await store.close()
  const race = await Promise.allSettled([1, 2, 3].map(() => Store.open(directory)))
  const opened = race.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  t.equal(opened.length, 1)
  await opened[0].close()
})

t.test('a directory whose lock file was removed is open still', async (t) => {
  if (process.platform === 'win32') return t.comment('nobody can remove the file there')
  const directory = temporaryDirectory(t)
  // Twice: of a new directory, and of one that holds data.
  for (let i = 0; i < 2; i++) {
    const store = await Store.open(directory)
    for (const name of ['warpdex.lock', 'lock.mdb']) rmSync(join(directory, name))
    const refused = { code: 'BAD_REQUEST', message: `has ${directory} open; stop it` }
    await t.rejects(Store.open(directory), refused)
    await t.rejects(verify(directory), refused)
    await t.rejects(backUpDirectory(directory, `${directory}-backup`), refused)
    await store.close()
  }
  const child = await holder(t, directory)
  rmSync(join(directory, 'warpdex.lock'))
  await t.rejects(Store.open(directory), { code: 'BAD_REQUEST', message: `has ${directory} open; stop it` })
  await kill(child)
  await (await Store.open(directory)).close()
})

t.test('a process whose number means nothing here is refused as well', async (t) => {
  if (!works(APART[0], ...APART.slice(1), 'true')) return t.comment('no namespaces here')
  const directory = temporaryDirectory(t)
  const child = await holder(t, directory, APART)
  await t.rejects(Store.open(directory), { code: 'BAD_REQUEST', message: `has ${directory} open` })
  await kill(child)

  const store = await Store.open(directory)
  const [command, ...args] = [...APART, ...PROGRAM, directory]
  const refused = spawnSync(command, args, { encoding: 'utf8' })
  t.not(refused.status, 0)
  t.match(refused.stderr, `process ${process.pid} on ${hostname()} has ${directory} open`)
  await store.close()
})

t.test('what is in the file does not matter, only who holds it', async (t) => {
  const directory = temporaryDirectory(t)
  await (await Store.open(directory)).close()
  const lock = join(directory, 'warpdex.lock')
  writeFileSync(lock, `1 on a host with a name that is longer than the one of this host, ${hostname()}`)
  const store = await Store.open(directory)
  t.equal(readFileSync(lock, 'utf8'), `${process.pid} on ${hostname()}`)
  if (works('flock', '--version')) {
    t.notOk(works('flock', '--nonblock', lock, 'true'), 'held, in the eyes of another program')
    await store.close()
    t.ok(works('flock', '--nonblock', lock, 'true'))
  }
  await store.close()
})
