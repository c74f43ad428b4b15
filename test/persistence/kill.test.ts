import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { Store } from '../../persistence/store.js'
import { LIMITS } from '../../protocol/limits.js'
import { crashRecord } from './crash-record.js'
import { hex, plain, randomNumbers, temporaryDirectory } from './store-helpers.js'

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = 6

/** Lets a process append for a while, kills it, and tells the last position that it said was durable. */
async function appendAndKill(directory: string, milliseconds: number): Promise<number> {
  const program = join(import.meta.dirname, 'append-forever.ts')
  const child = spawn(process.execPath, [...process.execArgv, program, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let acknowledged = 0
  const lines = createInterface(child.stdout)
  lines.on('line', (line) => {
    if (line !== 'open') acknowledged = Math.max(acknowledged, Number(line))
  })
  const ended = Promise.all([once(lines, 'close'), once(child, 'exit')])
  await once(lines, 'line')
  await setTimeout(milliseconds)
  child.kill('SIGKILL')
  await ended
  return acknowledged
}

/** Everything that the store holds must be whole, and the same as was written. */
async function checkStore(t: Test, directory: string, acknowledged: number): Promise<void> {
  const store = await Store.open(directory)
  const [{ id }] = store.indexes()
  const last = store.log.last(id)
  t.ok(last >= acknowledged, `position ${acknowledged} was acknowledged, ${last} is there`)
  let row = 0
  let position = 0
  for await (const entry of store.log.read(id, 0)) {
    const expected = crashRecord(++position, row)
    const count = expected.segment.offsets.length - 1
    const rows = new Uint32Array(count * 2).map((_, i) => (i % 2 === 0 ? row + i / 2 : 0))
    const payloads = await store.payloads.gather(id, { rows })
    const found = {
      entry: plain(entry),
      payloads: hex(payloads.bytes),
      outcome: store.outcome('crash', position),
    }
    const wanted = {
      entry: plain(expected),
      payloads: hex(expected.segment.bytes),
      outcome:
        position > last - LIMITS.writeIdsPerClient
          ? { index: id, position, codes: expected.outcomes[0].codes }
          : undefined,
    }
    if (!isDeepStrictEqual(found, wanted)) t.same(found, wanted)
    row += count
  }
  t.equal(position, last, 'no record is missing')
  t.equal(store.payloads.nextRow(id), row, 'no payloads without a record')
  t.equal(store.outcome('crash', last + 1), undefined, 'no outcome without a record')
  t.same((await store.snapshots.newest(id)).damage, [])
  await store.close()
}

t.test('kill -9 loses no acknowledged write and leaves no half one', async (t) => {
  t.comment(`SEED=${SEED}`)
  const random = randomNumbers(SEED)
  const directory = temporaryDirectory(t)
  for (let round = 0; round < ROUNDS; round++) {
    const acknowledged = await appendAndKill(directory, random(400))
    await checkStore(t, directory, acknowledged)
  }
})
