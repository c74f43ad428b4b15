import childProcess, { type ChildProcess, type ForkOptions } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { inspect } from '../../../persistence/check/checker.js'
import { Store } from '../../../persistence/store.js'
import { batch, definition, temporaryDirectory } from '../store-helpers.js'

/** A directory with an index and some log, closed. */
async function closedStore(t: Test): Promise<string> {
  const directory = temporaryDirectory(t)
  const store = await Store.open(directory)
  const { id } = await store.createIndex(definition('a'))
  for (let i = 0; i < 3; i++) await store.log.append(id, batch(i))
  await store.close()
  return directory
}

/** Has processes started otherwise, from here to the end of the test. */
function startBy(
  t: Test,
  start: (fork: typeof childProcess.fork, options: ForkOptions, program: string) => ChildProcess,
): void {
  const { fork } = childProcess
  const started = (program: string, options: ForkOptions) => start(fork, options, program)
  childProcess.fork = started as typeof fork
  syncBuiltinESMExports()
  t.teardown(() => {
    childProcess.fork = fork
    syncBuiltinESMExports()
  })
}

/** Has a process end by a signal as soon as it reads the data file. */
function endBy(t: Test, signal: NodeJS.Signals): void {
  const program = join(temporaryDirectory(t), 'program.mjs')
  const end = `process.send({ kind: 'reading', isWhole: true }, () => process.kill(process.pid, '${signal}'))`
  writeFileSync(program, `process.once('message', () => ${end})`)
  startBy(t, (fork, options) => fork(program, options))
}

t.test('a process that crashes over a data file says that it is damaged', async (t) => {
  const directory = await closedStore(t)
  endBy(t, 'SIGSEGV')
  await t.rejects(Store.open(directory), { code: 'DAMAGED_FILE', message: /data\.mdb is damaged .* backup/ })
  const { findings } = await inspect(directory, {})
  t.match(findings, [{ isLoss: true, what: /data\.mdb is damaged/, remedy: /from a backup/ }])
})

t.test('a process that is killed, or cannot be started, says nothing about the data file', async (t) => {
  const directory = await closedStore(t)
  endBy(t, 'SIGKILL')
  const killed = { code: 'INTERNAL', message: /data\.mdb could not be checked: SIGKILL/ }
  await t.rejects(Store.open(directory), killed)
  await t.rejects(inspect(directory, {}), killed)
  const { execPath } = process
  process.execPath = '/nowhere/node'
  t.teardown(() => {
    process.execPath = execPath
  })
  const thrown: unknown = await Store.open(directory).catch((error: unknown) => error)
  t.not(Object(thrown).code, 'DAMAGED_FILE')
  process.execPath = execPath
})

t.test('memory that the system does not give is not called damage', async (t) => {
  if (process.platform !== 'linux') return t.comment('limits are set otherwise there')
  const directory = await closedStore(t)
  startBy(t, (fork, options, program) => {
    const child = fork(program, options)
    // What the process has by then it keeps.
    child.once('spawn', () => {
      childProcess.execFileSync('prlimit', ['--pid', String(child.pid), `--as=${1 << 20}:`], {
        stdio: 'ignore',
      })
    })
    return child
  })
  const thrown: unknown = await Store.open(directory).catch((error: unknown) => error)
  t.match(thrown, { code: 'INTERNAL' })
})

t.test('a check leaves the directory as it was', async (t) => {
  const directory = await closedStore(t)
  await inspect(directory, {})
  t.ok(existsSync(join(directory, 'lock.mdb')), 'of the store')
  const before = readdirSync(directory)
  const store = await Store.open(directory)
  await store.close()
  t.same(readdirSync(directory), before)
})

t.test('it is given up when that is wanted', async (t) => {
  const directory = await closedStore(t)
  const reason = new Error('enough')
  await t.rejects(inspect(directory, { stop: AbortSignal.abort(reason) }), reason)
  const stop = new AbortController()
  const inspection = inspect(directory, { stop: stop.signal })
  stop.abort(reason)
  await t.rejects(inspection, reason)
})
