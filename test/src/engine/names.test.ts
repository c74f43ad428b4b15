import t from 'tap'
import { Device } from '../../../gpu/device/device.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { IndexDefinition } from '../../../protocol/types.js'
import type { Engine } from '../../../src/engine/index.js'
import { prefixTrees } from '../../../src/engine/structures.js'
import { reads } from '../../reads.js'
import { separateDevices } from '../../separate-devices.js'
import { openEngine } from './open-engine.js'

separateDevices()

const definition = (name: string): IndexDefinition => {
  return { name, keyType: 'u32', payloadKind: 'u32', unique: false }
}
const create = (engine: Engine, names: readonly string[]) =>
  Promise.all(names.map((name) => engine.createIndex(definition(name))))
/** The id of the index of that name, once it is there. */
async function idOf(engine: Engine, name: string): Promise<number | undefined> {
  const index = engine.index(name)
  await index.ready()
  return index.id
}
const idsOf = (engine: Engine, names: readonly string[]) =>
  Promise.all(names.map((name) => idOf(engine, name)))

/** How many names are refused as unknown. */
async function unknown(engine: Engine, names: readonly string[]): Promise<number> {
  const settled = await Promise.allSettled(names.map((name) => idOf(engine, name)))
  return settled.filter((one) => one.status === 'rejected' && one.reason.code === 'UNKNOWN_INDEX').length
}

// As many as there may be would take ten times as long and be no other case.
Object.assign(LIMITS, { indexes: 1000 })

t.test('as many indexes as there may be are created, found, listed and dropped', async (t) => {
  const directory = t.testdir()
  let engine = await openEngine(t, { directory, structures: prefixTrees })
  const names = Array.from({ length: LIMITS.indexes - 132 }, (_, i) => `index ${i}`)
  // Of every length, and so that they differ in their last byte only.
  for (let length = 1; length <= 128; length++) names.push('a'.repeat(length))
  names.push(`${'a'.repeat(127)}b`, `${'a'.repeat(127)}c`, 'b', 'ü'.repeat(64))
  t.equal(names.length, LIMITS.indexes)

  await create(engine, names)
  const ids = await idsOf(engine, names)
  t.equal(new Set(ids).size, names.length, 'each has an id of its own')
  t.equal(engine.list().length, names.length)
  t.equal(engine.stats().indexes.length, names.length)
  await t.rejects(engine.createIndex(definition('one more')), { code: 'TOO_LARGE' })
  await t.rejects(idOf(engine, 'one more'), { code: 'UNKNOWN_INDEX' })

  const dropped = names.filter((_, i) => i % 2 === 0)
  const kept = names.filter((_, i) => i % 2 === 1)
  const keptIds = ids.filter((_, i) => i % 2 === 1)
  await Promise.all(dropped.map((name) => engine.dropIndex(name)))
  t.same(await idsOf(engine, kept), keptIds)
  t.equal(await unknown(engine, dropped.slice(-100)), 100)
  t.same(new Set(engine.list().map(({ name }) => name)), new Set(kept))

  await engine.close()
  engine = await openEngine(t, { directory, structures: prefixTrees })
  t.same(await idsOf(engine, kept.slice(-1000)), keptIds.slice(-1000), 'a restart finds the same')
  await create(engine, dropped.slice(0, 100))
  t.equal(new Set([...ids, ...(await idsOf(engine, dropped.slice(0, 100)))]).size, names.length + 100)
})

t.test('creations and drops that are under way are waited for', async (t) => {
  const engine = await openEngine(t)
  const created = engine.createIndex(definition('a'))
  t.equal(await idOf(engine, 'a'), 1)
  await created
  const counted = reads(engine.index('a')).count(new Uint8Array(4))
  const dropped = engine.dropIndex('a')
  await t.rejects(idOf(engine, 'a'), { code: 'UNKNOWN_INDEX' })
  await Promise.all([counted, dropped])
  const again = [
    engine.createIndex(definition('a')),
    engine.dropIndex('a'),
    engine.createIndex(definition('a')),
  ]
  t.equal(await idOf(engine, 'a'), 3)
  await Promise.all(again)
  await engine.close()
  await t.rejects(idOf(engine, 'a'), { code: 'SHUTTING_DOWN' })
})

t.test('a name that could not be created is not there', async (t) => {
  let full = true
  const engine = await openEngine(t, {
    structures: {
      ...prefixTrees,
      create: async (device, shape) => {
        if (full) throw new Error('on purpose')
        return prefixTrees.create(device, shape)
      },
    },
  })
  await t.rejects(engine.createIndex(definition('a')), { message: 'on purpose' })
  await t.rejects(idOf(engine, 'a'), { code: 'UNKNOWN_INDEX' })
  full = false
  await engine.createIndex(definition('a'))
  t.equal(await idOf(engine, 'a'), 2)
})

t.test('indexes keep their names and ids on another device', async (t) => {
  const devices: Device[] = []
  const engine = await openEngine(t, {
    openDevice: async () => {
      const device = await Device.open('software')
      devices.push(device)
      return device
    },
  })
  const names = Array.from({ length: 200 }, (_, i) => `index ${i}`)
  await create(engine, names)
  const ids = await idsOf(engine, names)
  await engine.dropIndex('index 7')
  devices[0].gpu.destroy()
  await devices[0].lost
  names.splice(7, 1)
  ids.splice(7, 1)
  t.same(await idsOf(engine, names), ids)
  await t.rejects(idOf(engine, 'index 7'), { code: 'UNKNOWN_INDEX' })
  t.equal(devices.length, 2)
})
