import { setImmediate, setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Store } from '../../../persistence/store.js'
import { LIMITS } from '../../../protocol/limits.js'
import { WriteOp } from '../../../protocol/types.js'
import { SnapshotUpkeep } from '../../../src/engine/snapshot-upkeep.js'
import { ModelStructure } from '../../model-structure.js'
import { batchOf, writeTo } from '../../writes.js'
import { openEngine, u32 } from './open-engine.js'

const { snapshotWaitSeconds } = LIMITS
const DEFINITION = { name: 'i', keyType: 'u32', payloadKind: 'u32', unique: false } as const
/** Bytes of log after which a snapshot is due. */
const DUE = 1000

t.afterEach(() => Object.assign(LIMITS, { snapshotWaitSeconds }))

async function openUpkeep(t: Test) {
  const store = await Store.open(t.testdir())
  t.teardown(() => store.close())
  const { id } = await store.createIndex(DEFINITION)
  const structure = new ModelStructure({ keyType: 'u32', payloadBytes: 4, unique: false, matchFrom: 0 })
  const warnings: unknown[] = []
  let going = false
  let taken = 0
  let onTaken = () => {}
  const upkeep = new SnapshotUpkeep({
    store,
    id,
    snapshotLogBytes: DUE,
    inTurn: (task) => task(structure),
    warn: (what) => warnings.push(what),
    isGoing: () => going,
    happened: () => {
      taken++
      onTaken()
    },
  })
  const log = () =>
    store.log.append(id, batchOf(DEFINITION, { ops: WriteOp.insert, keys: u32(1), payloads: u32(1) }))
  /** Counts so many bytes of log, as after a write. */
  const count = (bytes: number) => {
    upkeep.logged(bytes)
    upkeep.takeIfDue()
  }
  const write = async (bytes: number) => {
    await log()
    count(bytes)
  }
  return {
    upkeep,
    log,
    count,
    write,
    warnings,
    taken: () => taken,
    /** Resolves with the next one. Timers of upkeep keep no process alive. */
    isTaken: async () => {
      const before = taken
      while (taken === before) await setTimeout(5)
    },
    whenTaken: (call: () => void) => {
      onTaken = call
    },
    go: () => {
      going = true
    },
  }
}

t.test('a snapshot that is due waits for a pause between writes', async (t) => {
  const { upkeep, log, count, isTaken } = await openUpkeep(t)
  await log()
  count(DUE)
  for (let i = 0; i < 100; i++) count(10)
  t.equal(upkeep.due, true, 'none was asked for')
  await isTaken()
  t.equal(upkeep.newest?.position, 1)
  t.equal(upkeep.due, false)
})

t.test('writes that never pause get one when the log is several times as long', async (t) => {
  const { upkeep, log, count, write, taken } = await openUpkeep(t)
  await log()
  for (let bytes = 10; bytes < LIMITS.snapshotLogTimes * DUE; bytes += 10) count(10)
  t.equal(upkeep.due, true, 'none was asked for')
  count(10)
  t.equal(upkeep.due, false)
  await upkeep.idle()
  t.equal(taken(), 1)
  await write(DUE)
  await upkeep.idle()
  t.equal(taken(), 1, 'and the next one waits again')
  await upkeep.end(true)
})

t.test('it waits no longer than it may', async (t) => {
  Object.assign(LIMITS, { snapshotWaitSeconds: 0.02 })
  const { upkeep, write, taken } = await openUpkeep(t)
  await write(DUE)
  for (let tries = 0; taken() === 0 && tries < 1000; tries++) {
    await setTimeout(5)
    await write(1)
    await upkeep.idle()
  }
  t.equal(taken(), 1)
})

t.test('what is written while one is taken is in the next, without another write', async (t) => {
  const { upkeep, write, isTaken, taken, whenTaken } = await openUpkeep(t)
  let second: Promise<void> | undefined
  whenTaken(() => {
    t.equal(upkeep.due, false, 'it is not done with')
    second ??= write(DUE)
  })
  await write(LIMITS.snapshotLogTimes * DUE)
  await isTaken()
  await second
  await isTaken()
  t.equal(taken(), 2)
  t.equal(upkeep.newest?.position, 2)
})

t.test('the end takes one at once, and none is taken after it', async (t) => {
  const { upkeep, write, taken, go, warnings } = await openUpkeep(t)
  await write(DUE)
  go()
  await upkeep.end(true)
  t.equal(taken(), 1)
  await write(LIMITS.snapshotLogTimes * DUE)
  await upkeep.idle()
  t.equal(taken(), 1)
  t.same(warnings, [])
})

t.test('an index goes while its snapshot is written', async (t) => {
  const failures: unknown[] = []
  const note = (thrown: unknown) => void failures.push(thrown)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const engine = await openEngine(t, { snapshotLogBytes: 2000 })
  const keys = u32(...Array.from({ length: 500 }, (_, i) => i))
  const payloads = {
    bytes: new Uint8Array(5000),
    offsets: Uint32Array.from({ length: 501 }, (_, i) => 10 * i),
  }
  for (let i = 0; i < 12; i++) {
    const name = `payloads ${i}`
    await engine.createIndex({ name, keyType: 'u32', payloadKind: 'bytes', unique: false })
    await writeTo(engine.index(name), { ops: WriteOp.insert, keys, payloads })
    await setTimeout(i / 2)
    await engine.dropIndex(name)
  }
  await setTimeout(50)
  t.same(failures, [])
})

t.test('a log that is long when it is loaded gets one, as after a crash', async (t) => {
  const { upkeep, taken } = await openUpkeep(t)
  upkeep.loaded(LIMITS.snapshotLogTimes * DUE)
  await upkeep.idle()
  t.equal(taken(), 1)
  await upkeep.stop()
})

t.test('indexes and relations get theirs in a pause, and at the end', async (t) => {
  const directory = t.testdir()
  const engine = await openEngine(t, { directory, snapshotLogBytes: 2000 })
  await engine.createIndex(DEFINITION)
  const relation = { name: 'r', columns: [{ name: 'c', type: 'u32', nullable: false }] } as const
  await engine.createRelation(relation)
  const index = engine.index('i')
  const rows = { bytes: u32(...Array.from({ length: 600 }, (_, i) => i)), offsets: undefined }
  await writeTo(index, { ops: WriteOp.insert, keys: rows.bytes, payloads: rows })
  const columns = new Map([['c', { values: rows.bytes }]])
  await engine.relation('r').append({ rows: 600, columns })
  const positions = () => [index, engine.relation('r')].map((each) => each.stats().snapshotPosition)
  for (let tries = 0; positions().includes(0) && tries < 2000; tries++) await setTimeout(5)
  t.same(positions(), [1, 1])
  await writeTo(index, { ops: WriteOp.insert, keys: rows.bytes, payloads: rows })
  await setImmediate()
  t.same(positions(), [1, 1])
  await engine.close()
  const again = await openEngine(t, { directory })
  t.equal(again.index('i').stats().snapshotPosition, 2)
})
