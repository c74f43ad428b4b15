import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import { WarpdexError } from '../../../protocol/errors.js'
import type { IndexDefinition } from '../../../protocol/types.js'
import { modelStructures } from '../../model-structure.js'
import { openEngine } from './open-engine.js'

const plain: IndexDefinition = { name: 'plain', keyType: 'string', payloadKind: 'u32', unique: true }
const prefix: IndexDefinition = { ...plain, name: 'prefix', structure: 'prefix' }
const full: IndexDefinition = { ...plain, name: 'full', layout: 'full' }
const parted: IndexDefinition = { ...plain, name: 'parted', partitionLevels: 4 }

/** Models whose strategies are measured in no time, and the devices on which they were. */
function measuredModels() {
  const measured: Device[] = []
  const calibrate = async (device: Device) => {
    measured.push(device)
    return { cost: measured.length }
  }
  return { measured, structures: { ...modelStructures, calibrate } }
}

/** Costs are measured beside requests. */
async function settled(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setTimeout(5)
}

t.test('costs are measured for the first index with strategies to choose from, and kept', async (t) => {
  const { measured, structures } = measuredModels()
  const directory = t.testdir()
  const first = await openEngine(t, { directory, structures })
  await first.createIndex(plain)
  t.equal(measured.length, 0)
  await first.createIndex({ ...plain, name: 'bare', partitionLevels: 'none' })
  t.equal(measured.length, 0)
  await Promise.all([first.createIndex(prefix), first.createIndex(full), first.createIndex(parted)])
  await settled(() => measured[0]?.traversalCosts !== undefined)
  t.equal(measured.length, 1)
  t.same(measured[0]?.traversalCosts, { cost: 1 })
  await first.close()

  const second = await openEngine(t, { directory, structures })
  t.equal(measured.length, 1, 'they come from disk')
  await second.close()

  const third = await openEngine(t, { directory, structures, recalibrate: true })
  await settled(() => measured[1]?.traversalCosts !== undefined)
  t.equal(measured.length, 2)
  t.same(measured[1]?.traversalCosts, { cost: 2 })
  await third.close()
})

t.test('an index works where its costs cannot be measured', async (t) => {
  const warnings: string[] = []
  const calibrate = async () => {
    throw new WarpdexError('OUT_OF_DEVICE_MEMORY', 'no room')
  }
  const engine = await openEngine(t, {
    structures: { ...modelStructures, calibrate },
    onWarning: (message) => warnings.push(message),
  })
  await engine.createIndex(full)
  await settled(() => warnings.length > 0)
  t.match(warnings, [/could not be measured: no room/])
})
