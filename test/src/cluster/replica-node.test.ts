import { readdirSync, truncateSync } from 'node:fs'
import t from 'tap'
import type { RelationDefinition } from '../../../protocol/relation.js'
import { packBatch } from '../../../protocol/relation-values.js'
import { type IndexDefinition, WriteOp } from '../../../protocol/types.js'
import { ReplicaNode } from '../../../src/cluster/replica-node.js'
import type { Engine } from '../../../src/engine/index.js'
import { openSharedDevice } from '../../gpu/open-device.js'
import { Random, seedOfRun } from '../../random.js'
import { reads } from '../../reads.js'
import { blobs, openEngine, u32 } from '../engine/open-engine.js'
import { ReplicaSet, until } from './handed-nodes.js'

const READER = { cancelled: false }
const device = await openSharedDevice(t)
const random = new Random(seedOfRun())
const NUMBERS: IndexDefinition = { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: false }
const TEXTS: IndexDefinition = { name: 'texts', keyType: 'u32', payloadKind: 'bytes', unique: true }
const ROWS: RelationDefinition = {
  name: 'rows',
  columns: [
    { name: 'id', type: 'u32', nullable: false },
    { name: 'city', type: 'string', nullable: true },
  ],
}
const column = (values: readonly number[]) => ({ bytes: u32(...values), width: 4 })

/** Writes of every kind to the owner. */
async function write(engine: Engine): Promise<void> {
  const keys = Array.from({ length: 20 }, () => random.below(40))
  const numbers = engine.index('numbers')
  await numbers.write({
    ops: WriteOp.insert,
    keys: column(keys),
    payloads: column(keys.map(() => random.word())),
  })
  await engine.index('texts').write(
    {
      ops: WriteOp.replace,
      keys: column(keys),
      payloads: blobs(...keys.map((key) => `text ${key} ${random.word()}`)),
    },
    { client: 'test', number: random.below(1e9) },
  )
  await numbers.write({ ops: WriteOp.deleteKey, keys: column(keys.slice(0, 5)) })
  await numbers.deleteRange({ from: u32(30), to: u32(32) })
  const rows = packBatch({ id: keys, city: keys.map((key) => (key % 3 === 0 ? null : `city ${key}`)) }, ROWS)
  await engine.relation('rows').append(rows)
  if (random.chance(0.3)) {
    const where = { op: '=', args: [{ column: 'id' }, { value: keys[0] }] }
    await engine.changeRows('rows', { where }, READER)
  }
  const batch = {
    writes: [{ index: numbers, columns: { ops: WriteOp.insert, keys: column([1]), payloads: column([7]) } }],
  }
  const appends = [{ relation: engine.relation('rows'), rows }]
  await engine.writeBatch({ ...batch, appends, conditions: [] })
}

async function create(engine: Engine): Promise<void> {
  await engine.createIndex(NUMBERS)
  await engine.createIndex(TEXTS)
  await engine.createRelation(ROWS)
  await engine.createRelationIndex({ name: 'by id', relation: 'rows', columns: ['id'] })
}

t.test('followers have what the owner has, whatever it does', async (t) => {
  const set = new ReplicaSet(t, device)
  for (const name of ['a', 'b', 'c']) await set.start(name)
  const owner = await set.give('a')
  await create(owner)
  for (let i = 0; i < 5; i++) await write(owner)
  await set.check(t, 'writes')

  await owner.swapIndexes('numbers', 'by id')
  await owner.renameIndex('texts', 'words')
  await set.check(t, 'names')
  await owner.swapIndexes('numbers', 'by id')
  await owner.renameIndex('words', 'texts')
  await owner.relation('rows').compact()
  await write(owner)
  await set.check(t, 'a compaction')

  await owner.dropIndex('by id')
  await owner.dropIndex('numbers')
  await set.check(t, 'drops of indexes')
  await owner.dropRelation('rows')
  await set.check(t, 'the drop of a relation')
  await owner.createIndex(NUMBERS)
  await set.check(t, 'a name that is used again')
})

/** Inserts keys of its own one after the other, until it is told to end. @returns what became of each */
async function insertMany(
  set: ReplicaSet,
  names: readonly string[],
  from: number,
): Promise<Map<number, string>> {
  const outcomes = new Map<number, string>()
  const inserts = Array.from({ length: 60 }, async (_, i) => {
    await new Promise((resolve) => setTimeout(resolve, random.below(60)))
    const key = from + i
    const { engine } = set.nodes.get(names[random.below(names.length)])!
    const write = { ops: WriteOp.insert, keys: column([key]), payloads: column([key]) }
    try {
      await engine.index('numbers').write(write, { client: 'test', number: key })
      outcomes.set(key, 'acknowledged')
    } catch (error) {
      outcomes.set(key, (error as { code: string }).code)
    }
  })
  await Promise.all(inserts)
  return outcomes
}

async function keysOf(engine: Engine): Promise<Set<number>> {
  const { keys } = await reads(engine.index('numbers')).scan({ ranges: 1, limit: 10_000 })
  const found = [...new Uint32Array(new Uint8Array(keys).buffer)]
  t.equal(found.length, new Set(found).size, 'nothing is there twice')
  return new Set(found)
}

t.test('a node that does not get on with the log leaves the replica set to others', async (t) => {
  const set = new ReplicaSet(t, device)
  let stand: Promise<void> | undefined
  const face = set.log.face()
  await set.start('a', { ...face, head: async () => stand?.then(face.head) ?? face.head() })
  await set.start('b')
  let goOn = () => {}
  stand = new Promise((resolve) => {
    goOn = resolve
  })
  set.ownership.give('a')
  await until(() => set.ownership.holder === undefined)
  t.notOk(set.nodes.get('a')?.node.isOwner)
  const engine = await set.give('b')
  await engine.createIndex(NUMBERS)
  goOn()
  await set.check(t, 'it goes on later')
})

t.test('the owner changes while clients write', async (t) => {
  const set = new ReplicaSet(t, device)
  const names = ['a', 'b', 'c']
  for (const name of names) await set.start(name)
  await (await set.give('a')).createIndex(NUMBERS)
  await set.check(t, 'an index')
  const writing = insertMany(set, names, 0)
  for (const next of ['b', 'a', 'c', 'b']) {
    await new Promise((resolve) => setTimeout(resolve, 15))
    await set.give(next)
  }
  const outcomes = await writing
  await set.check(t, 'all nodes have the same')
  const found = await keysOf(set.nodes.get('a')!.engine)
  for (const [key, outcome] of outcomes) {
    if (outcome === 'acknowledged') t.ok(found.has(key), `${key} is there`)
    else t.same([outcome, found.has(key)], ['NOT_OWNER', false], `${key} is not`)
  }
  t.ok([...outcomes.values()].includes('acknowledged'))
})

t.test('a write that was on its way when its owner lost the replica set is not written over', async (t) => {
  const set = new ReplicaSet(t, device)
  const face = set.log.face()
  let onSent: (() => void) | undefined
  let way: Promise<void> | undefined
  const append = async (entry: Uint8Array, expected: number) => {
    onSent?.()
    await way
    return face.append(entry, expected)
  }
  await set.start('a', { ...face, append })
  await set.start('b')
  const owner = await set.give('a')
  await owner.createIndex(NUMBERS)
  const insert = (key: number) => {
    const write = { ops: WriteOp.insert, keys: column([key]), payloads: column([key]) }
    return owner.index('numbers').write(write, { client: 'test', number: key })
  }
  let arrive = () => {}
  way = new Promise((resolve) => {
    arrive = resolve
  })
  const sent = new Promise<void>((resolve) => {
    onSent = resolve
  })
  const first = insert(1)
  await sent
  const second = insert(2)
  set.ownership.give(undefined)
  await t.rejects(second, { code: 'NOT_OWNER' }, 'what waits is refused at once')
  way = undefined
  arrive()
  await first
  await set.give('a')
  await insert(3)
  await insert(1)
  t.same(await keysOf(owner), new Set([1, 3]))
  await set.check(t, 'all nodes have the same')
})

t.test(
  'an append of which nobody knows what became is there once, and a write that is sent again gets its answer',
  async (t) => {
    const set = new ReplicaSet(t, device)
    let failure: 'before' | 'after' | undefined
    const face = set.log.face((when) => {
      if (when !== failure) return
      failure = undefined
      throw new Error('the connection was lost')
    })
    await set.start('a', face)
    await set.start('b')
    const owner = await set.give('a')
    await owner.createIndex(NUMBERS)
    const insert = (key: number) => {
      const write = { ops: WriteOp.insert, keys: column([key, key]), payloads: column([1, 2]) }
      return owner.index('numbers').write(write, { client: 'test', number: key })
    }
    for (const [key, when] of [
      [1, 'before'],
      [2, 'after'],
      [3, 'after'],
    ] as const) {
      failure = when
      await t.rejects(insert(key), { message: /the connection was lost/ })
      await until(() => set.nodes.get('a')!.node.isOwner)
      t.same([...(await insert(key))], [0, 0], 'the second time')
    }
    await set.check(t, 'all nodes have the same')
    const { payloads } = await reads(owner.index('numbers')).scan({ ranges: 1, limit: 100 })
    t.equal(payloads.byteLength / 4, 6)
  },
)

t.test(
  'a node that was away, or has lost its disk, gets what it lacks; what is another log, or no replica, is refused',
  async (t) => {
    const set = new ReplicaSet(t, device)
    for (const name of ['a', 'b', 'c']) await set.start(name)
    await create(await set.give('a'))
    await set.check(t, 'all of it')
    await set.stop('b')
    await write(set.nodes.get('a')!.engine)
    await set.stop('c')
    set.directories.set('c', `${t.testdirName}/fresh`)
    await write(set.nodes.get('a')!.engine)
    await set.start('b')
    await set.start('c')
    await set.check(t, 'what was written meanwhile')

    // The former owner comes back as a follower.
    await set.stop('a')
    const owner = await set.give('b')
    await write(owner)
    await set.start('a')
    await set.check(t, 'what the next owner wrote')
    await set.stop('a')

    set.log.entries.length = 2
    await t.rejects(set.start('a'), { code: 'BAD_REQUEST', message: /is it another log/ })
    const alone = await openEngine(t, { directory: `${t.testdirName}/alone`, openDevice: async () => device })
    await alone.createIndex(NUMBERS)
    const options = {
      engine: alone,
      log: set.log.face(),
      ownership: set.ownership.of('d'),
      name: 'main',
      onWarning() {},
    }
    await t.rejects(ReplicaNode.open(options), { code: 'BAD_REQUEST', message: /are of no replica set/ })
  },
)

t.test('snapshots have the log begin later, and bring back a node that has nothing', async (t) => {
  const set = new ReplicaSet(t, device, 10_000)
  await set.start('a')
  const owner = await set.give('a')
  await create(owner)
  while (set.log.entries.length < 5 || set.log.entries[0] !== undefined) {
    await write(owner)
    await set.nodes.get('a')!.node.settled()
  }
  t.equal(readdirSync(set.folder).length, 2, 'two are kept')
  await set.start('b')
  await write(owner)
  await set.check(t, 'what the snapshot and the log have')

  // One that is damaged is passed over.
  const newest = readdirSync(set.folder).sort(
    (one, other) => Number(other.split('-')[1]) - Number(one.split('-')[1]),
  )[0]
  truncateSync(`${set.folder}/${newest}/data.mdb`, 100)
  await set.start('c')
  await set.check(t, 'what the older snapshot and the log have')
})
