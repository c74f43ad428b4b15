import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import { WarpdexError } from '../../../protocol/errors.js'
import { LIMITS } from '../../../protocol/limits.js'
import type { SelectionCosts } from '../../../protocol/query/selection-costs.js'
import { openEngine } from './open-engine.js'

/** As much as rows want. */
const PROPORTIONAL = [{ share: 1, value: 1 }]

/** Costs that tell by their launch which measurement they come from. */
function costsOf(launch: number): SelectionCosts {
  const both = { word: 1, wide: 2 }
  return {
    workgroup: 256,
    scan: both,
    rates: { word: [1], wide: [1] },
    granule: 8,
    branch: PROPORTIONAL,
    branching: 0,
    gathering: 0,
    gather: both,
    mark: 1,
    write: 1,
    copy: 1,
    predicate: { interval: 0, search: 1, table: 1, expression: 3 },
    match: {
      row: 0,
      string: 1,
      byte: 1,
      part: { string: PROPORTIONAL, byte: PROPORTIONAL },
      branched: PROPORTIONAL,
      tile: 1024,
      tiles: 8,
    },
    launch,
    roundTrip: 20_000,
  }
}

const SELECTION = {
  op: 'where',
  input: { op: 'scan', relation: 'r' },
  condition: { op: '<', args: [{ column: 'x' }, { value: 1 }] },
} as const

t.test('costs of selections are measured once, when they are first needed, and kept', async (t) => {
  const { calibratedRows } = LIMITS
  t.teardown(() => Object.assign(LIMITS, { calibratedRows }))
  Object.assign(LIMITS, { calibratedRows: 100 })
  const measured: Device[] = []
  const measureSelections = async (device: Device) => {
    measured.push(device)
    return costsOf(measured.length)
  }
  const directory = t.testdir()
  const first = await openEngine(t, { directory, measureSelections })
  await first.createRelation({ name: 'r', columns: [{ name: 'x', type: 'u32', nullable: false }] })
  const append = (rows: number) =>
    first
      .relation('r')
      .append({ rows, columns: new Map([['x', { values: new Uint8Array(4 * rows).fill(1) }]]) })
  await append(10)
  await first.queries.start(SELECTION, { cancelled: false })
  t.equal(measured.length, 0, 'a small one is not worth it')
  await append(90)
  await first.queries.start(SELECTION, { cancelled: false })
  await first.queries.start(SELECTION, { cancelled: false })
  t.equal(measured.length, 1)
  t.match((await first.calibration()).selections, { launch: 1 })
  // Until they are stored, whoever asks for new ones gets these.
  while ((await first.calibration(true)).selections?.launch === 1) await sleep(5)
  t.match((await first.calibration()).selections, { launch: 2 }, 'measured anew')
  t.match(await first.calibration(), { adapter: { software: true }, traversals: undefined })
  await first.close()

  const second = await openEngine(t, { directory, measureSelections })
  t.match((await second.calibration()).selections, { launch: 2 }, 'they come from disk')
  await second.close()

  const third = await openEngine(t, { directory, measureSelections, recalibrate: true })
  t.equal(measured.length, 2, 'nothing was asked for')
  await third.queries.start(SELECTION, { cancelled: false })
  t.equal(measured.length, 3)
})

t.test('costs that cannot be stored are in use', async (t) => {
  const warnings: string[] = []
  const directory = t.testdir()
  const engine = await openEngine(t, {
    directory,
    measureSelections: async () => costsOf(3),
    onWarning: (message) => warnings.push(message),
  })
  await rm(join(directory, 'calibration'), { recursive: true, force: true })
  await writeFile(join(directory, 'calibration'), 'in the way')
  t.match((await engine.calibration(true)).selections, { launch: 3 })
  t.match((await engine.calibration()).selections, { launch: 3 })
  t.match(warnings, [/^the costs of selections were measured but could not be stored: /])
})

t.test('a measurement that fails is warned of once, and one that runs is stopped', async (t) => {
  const warnings: string[] = []
  const failing = await openEngine(t, {
    measureSelections: async () => {
      throw new WarpdexError('OUT_OF_DEVICE_MEMORY', 'no room')
    },
    onWarning: (message) => warnings.push(message),
  })
  await t.rejects(failing.calibration(true), { code: 'OUT_OF_DEVICE_MEMORY' })
  t.strictSame(warnings, [], 'who asks is told')

  let stopped = false
  const endless = await openEngine(t, {
    measureSelections: (_, stop) =>
      new Promise((_, reject) => {
        stop.addEventListener('abort', () => {
          stopped = true
          reject(stop.reason)
        })
      }),
  })
  const asked = t.rejects(endless.calibration(true))
  await new Promise((resolve) => setImmediate(resolve))
  await endless.close()
  t.ok(stopped)
  await asked
})
