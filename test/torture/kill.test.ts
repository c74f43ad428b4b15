import { join } from 'node:path'
import t from 'tap'
import { COMPILED } from '../compiled.js'
import { Random, seedOfRun } from '../random.js'
import { Killing, type KillOptions } from './kill.js'
import { Rows } from './workloads/rows.js'

const seed = seedOfRun()
const directory = t.testdir()
const server = [join(COMPILED, 'test/torture/kill-server.js')]

/** Servers over models, two at a time, killed so often between them. */
const KILLS = 20

async function killed(
  options: Pick<KillOptions, 'structures' | 'longest' | 'workloads'>,
  name: string,
  kills: number,
): Promise<Killing> {
  const random = new Random(seed + name.length)
  const killing = new Killing({ ...options, server, random, directory: join(directory, name) })
  while (killing.kills < kills) await killing.round()
  await killing.finish()
  return killing
}

t.test('kill -9 loses nothing that was acknowledged, and leaves nothing by halves or twice', async (t) => {
  t.comment(`TEST_SEED=${seed}`)
  const model = { structures: 'model', longest: 60 } as const
  const both = await Promise.all([killed(model, 'a', KILLS / 2), killed(model, 'bb', KILLS / 2)])
  const acknowledged = both.reduce((sum, killing) => sum + killing.acknowledged, 0)
  t.comment(`${acknowledged} writes acknowledged`)
  t.ok(acknowledged > KILLS)
})

t.test('the same of rows that are appended, updated and deleted', async (t) => {
  const workloads = [new Rows()]
  const { acknowledged } = await killed({ structures: 'model', longest: 400, workloads }, 'rows', 8)
  t.comment(`${acknowledged} changes acknowledged`)
  t.ok(acknowledged >= 8)
})

t.test('the same with indexes on the device', async (t) => {
  const { acknowledged } = await killed({ structures: 'device', longest: 1500 }, 'device', 2)
  t.comment(`${acknowledged} writes acknowledged`)
})
