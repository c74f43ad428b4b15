import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { childProgram } from '../../../bench/child-program.js'
import { WriteLog } from '../../../persistence/log/write-log.js'
import { asBytes, type Column } from '../../../protocol/columns.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { Condition } from '../../../protocol/types.js'
import type { Engine } from '../../../src/engine/index.js'
import { ModelStructure } from '../../model-structure.js'
import { Random, seedOfRun } from '../../random.js'
import { batchNumber, openBatches } from './batch-forever.js'

const KILLS = 5

/** How many payloads each key has. */
async function countsOf(engine: Engine, name: string, keys: Column): Promise<number[]> {
  const counts = await engine.index(name).read({ op: 'count' }, { keys })
  return [...new Uint32Array(Uint8Array.from(counts).buffer)]
}

/** How many batches there are, of which all must be there as a whole, and none behind them. */
async function wholeBatches(t: Test, engine: Engine, what: string): Promise<number> {
  const relation = await engine.relation('rows').read({ columns: [], from: 0, limit: 1_000_000 })
  const { total } = relation
  const numbers = Array.from({ length: total }, (_, i) => i + 1)
  const rows = new Uint32Array(Uint8Array.from(relation.batch.columns.get('n')?.values ?? []).buffer)
  t.same([...rows], numbers, `${what}: rows`)
  const keys = { bytes: asBytes(Uint32Array.from([0, ...numbers, total + 1])), width: 4 }
  for (const name of ['a', 'b']) {
    const counts = await countsOf(engine, name, keys)
    t.same(counts, [total, ...numbers.map(() => 1), 0], `${what}: ${name}`)
  }
  const [over] = await engine.index('by n').read({ op: 'countRanges', ranges: 1 }, {})
  t.equal(Number(over), total, `${what}: the index over rows`)
  return total
}

t.test('kills leave every batch in all that it writes to, or in nothing', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const directory = t.testdir()
  let acknowledged = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const program = childProgram('test/src/engine/batch-forever')
    const child = spawn(process.execPath, [...process.execArgv, program, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exit = once(child, 'exit')
    const lines = createInterface(child.stdout)
    lines.on('line', (line) => {
      acknowledged = Math.max(acknowledged, Number(line))
    })
    await once(lines, 'line')
    await setTimeout(random.below(400))
    child.kill('SIGKILL')
    await exit
    const engine = await openBatches(directory)
    const total = await wholeBatches(t, engine, `kill ${kill}`)
    t.ok(total >= acknowledged, `${acknowledged} of ${total} were acknowledged`)
    const again = await engine.writeBatch(batchNumber(engine, total), { client: 'c', number: total })
    t.same(
      again,
      { codes: Uint8Array.of(0, 0, 0, 0), appended: [{ first: total - 1, rows: 1 }] },
      'sent again',
    )
    t.equal(await wholeBatches(t, engine, 'sent again'), total)
    await engine.close()
  }
})

t.test('a batch that cannot be logged leaves no trace', async (t) => {
  const engine = await openBatches(t.testdir())
  t.teardown(() => engine.close())
  await engine.writeBatch(batchNumber(engine, 1))
  const { appendAll } = WriteLog.prototype
  let isRefused = true
  t.intercept(WriteLog.prototype, 'appendAll', {
    value(this: WriteLog, ...given: Parameters<WriteLog['appendAll']>) {
      if (isRefused) return Promise.reject(new WarpdexError('DISK_FULL', 'on purpose'))
      return appendAll.apply(this, given)
    },
  })
  const id = { client: 'c', number: 2 }
  await t.rejects(engine.writeBatch(batchNumber(engine, 2), id), { code: 'DISK_FULL' })
  t.equal(await wholeBatches(t, engine, 'refused'), 1)
  isRefused = false
  t.same((await engine.writeBatch(batchNumber(engine, 2), id)).appended, [{ first: 1, rows: 1 }])
  t.equal(await wholeBatches(t, engine, 'done'), 2)
})

t.test('a batch that is logged counts, even if a device fails to apply it', async (t) => {
  const engine = await openBatches(t.testdir())
  t.teardown(() => engine.close())
  const { prepare } = ModelStructure.prototype
  for (const failing of [1, 2, 3]) {
    let prepared = 0
    const restore = t.intercept(ModelStructure.prototype, 'prepare', {
      async value(this: ModelStructure, ...given: Parameters<ModelStructure['prepare']>) {
        const ready = await prepare.apply(this, given)
        if (++prepared !== failing) return ready
        return {
          ...ready,
          apply: () => {
            throw new Error('on purpose')
          },
        }
      },
    })
    await engine.writeBatch(batchNumber(engine, failing))
    restore.restore()
    t.equal(await wholeBatches(t, engine, `structure ${failing} fails`), failing)
  }
})

t.test('a batch that was cancelled, or is for what is dropped meanwhile, does nothing', async (t) => {
  const engine = await openBatches(t.testdir())
  t.teardown(() => engine.close())
  await t.rejects(engine.writeBatch(batchNumber(engine, 1), undefined, { cancelled: true }), {
    code: 'CANCELLED',
  })
  t.equal(await wholeBatches(t, engine, 'cancelled'), 0)
  const batch = batchNumber(engine, 1)
  const [dropped, refused] = await Promise.allSettled([engine.dropIndex('b'), engine.writeBatch(batch)])
  t.match(
    [dropped, refused],
    [{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'UNKNOWN_INDEX' } }],
  )
  const key = { bytes: asBytes(Uint32Array.of(1)), width: 4 }
  t.same(await countsOf(engine, 'a', key), [0])
  const conditions = { kinds: Uint8Array.of(Condition.absent), payloads: undefined, sequences: undefined }
  const expect = [{ index: engine.index('a'), keys: key, conditions }]
  t.same(await engine.writeBatch({ writes: [], appends: [], conditions: expect }), {
    codes: new Uint8Array(0),
    appended: [],
  })
})
