import { execFileSync } from 'node:child_process'
import { readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { toWarpdexError } from '../../../protocol/errors.js'
import { type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import type { Index } from '../../../src/engine/index.js'
import { usedBytes } from '../../persistence/used-bytes.js'
import { reads } from '../../reads.js'
import { writeTo } from '../../writes.js'
import { blobs, openEngine, texts, u32, values } from './open-engine.js'

const NAMES = ['one', 'two']
const BATCH = 50

/** Bounds the length of files that this process may write, as a full disk would; 'unlimited' makes room again. */
function limitFiles(bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`], { stdio: 'ignore' })
}

/** The signal that comes with such a failure ends a process that does not mind it. */
process.on('SIGXFSZ', () => {})

function canLimit(): boolean {
  try {
    limitFiles('unlimited')
    return true
  } catch {
    return false
  }
}

function definitionOf(name: string): IndexDefinition {
  return { name, keyType: 'u32', payloadKind: 'bytes', unique: false }
}

/** Batch n has keys of its own, with a text that is the batch's. */
function writeBatch(index: Index, n: number): Promise<Uint8Array> {
  const keys = u32(...Array.from({ length: BATCH }, (_, i) => n * BATCH + i))
  const payloads = blobs(...Array.from({ length: BATCH }, (_, i) => textOf(n, i)))
  return writeTo(index, { ops: WriteOp.insert, keys, payloads }, { client: index.definition.name, number: n })
}

function textOf(n: number, i: number): string {
  return `${n}/${i} `.padEnd(200 + ((n * 7919 + i) % 400), '.')
}

/** How many payloads each key of a batch has; all must be the batch's. */
async function readBatch(t: Test, index: Index, n: number): Promise<number> {
  const keys = u32(...Array.from({ length: BATCH }, (_, i) => n * BATCH + i))
  const found = await reads(index).getAll(keys)
  const counts = values(await reads(index).count(keys))
  t.equal(new Set(counts).size, 1, `batch ${n} is whole`)
  if (counts[0] === 1)
    t.same(
      texts(found),
      Array.from({ length: BATCH }, (_, i) => textOf(n, i)),
    )
  return counts[0]
}

const skip = canLimit() ? false : 'there is no prlimit'
t.test('a full disk: writes are refused, reads go on, and it goes on with room', { skip }, async (t) => {
  t.teardown(() => limitFiles('unlimited'))
  const directory = t.testdir()
  const engine = await openEngine(t, { directory })
  for (const name of NAMES) await engine.createIndex(definitionOf(name))
  const acknowledged = new Set<string>()
  const refused = new Map<string, string>()
  const writeSome = (from: number, to: number): Promise<unknown> =>
    Promise.all(
      NAMES.flatMap((name) =>
        Array.from({ length: to - from }, async (_, i) => {
          const label = `${name} ${from + i}`
          try {
            await writeBatch(engine.index(name), from + i)
            acknowledged.add(label)
            refused.delete(label)
          } catch (thrown) {
            refused.set(label, toWarpdexError(thrown).code)
          }
        }),
      ),
    )
  const check = async (): Promise<void> => {
    for (const name of NAMES) {
      for (let n = 0; n < 60; n++) {
        const count = await readBatch(t, engine.index(name), n)
        t.equal(count, acknowledged.has(`${name} ${n}`) ? 1 : 0, `${name} ${n}`)
      }
    }
  }

  await writeSome(0, 6)
  t.same([...refused], [])
  limitFiles(statSync(join(directory, 'data.mdb')).size + 50_000)
  await writeSome(6, 20)
  await writeSome(20, 24)
  t.ok(refused.size > 0, `${refused.size} refused`)
  t.same([...new Set(refused.values())], ['DISK_FULL'])
  await check()

  // While the disk is full for longer, it is tried again now and then.
  await setTimeout(1100)
  await writeSome(6, 24)
  t.same([...new Set(refused.values())], ['DISK_FULL'])
  await check()

  limitFiles('unlimited')
  await setTimeout(1100)
  await writeSome(0, 40)
  t.same([...refused], [])
  t.equal(acknowledged.size, 80)
  await check()
  await engine.close()

  const again = await openEngine(t, { directory })
  for (const name of NAMES) for (let n = 0; n < 40; n++) t.equal(await readBatch(t, again.index(name), n), 1)
})

t.test('what else needs room is refused as well, and undone', { skip }, async (t) => {
  t.teardown(() => limitFiles('unlimited'))
  const directory = t.testdir()
  const filled = await openEngine(t, { directory })
  await filled.createIndex(definitionOf('one'))
  await writeBatch(filled.index('one'), 0)
  await filled.close()
  const path = join(directory, 'data.mdb')
  const bytes = await usedBytes(directory)
  // What was set aside for later is given back, so that not even the smallest transaction has room.
  truncateSync(path, bytes)
  limitFiles(bytes)

  const engine = await openEngine(t, { directory })
  const one = engine.index('one')
  await t.rejects(engine.createIndex(definitionOf('two')), { code: 'DISK_FULL', message: /make room/ })
  await t.rejects(engine.createIndex(definitionOf('two')), { code: 'DISK_FULL' })
  await t.rejects(engine.dropIndex('one'), { code: 'DISK_FULL' })
  await t.rejects(engine.renameIndex('one', 'two'), { code: 'DISK_FULL' })
  t.same(
    engine.list().map(({ name }) => name),
    ['one'],
  )
  await t.rejects(writeBatch(one, 1), { code: 'DISK_FULL' })
  await t.rejects(engine.snapshot('one'), { code: 'DISK_FULL' })
  t.same(readdirSync(join(directory, 'snapshots')), [])
  t.same(await writeBatch(one, 0), new Uint8Array(BATCH), 'what was stored before is known')
  t.same([await readBatch(t, one, 0), await readBatch(t, one, 1)], [1, 0])
  t.equal(engine.index('one'), one)

  limitFiles('unlimited')
  await setTimeout(1100)
  await writeBatch(one, 1)
  await engine.snapshot('one')
  await engine.createIndex(definitionOf('two'))
  await engine.dropIndex('one')
  await engine.close()
  const again = await openEngine(t, { directory })
  t.same(
    again.list().map(({ name }) => name),
    ['two'],
  )
})
