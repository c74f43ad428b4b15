import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type CostsOf,
  loadCosts,
  SELECTION_COSTS,
  storeCosts,
  TRAVERSAL_COSTS,
} from '../../../src/engine/calibration.js'

const ADAPTER = 'SwiftShader (driver 5.0.0)'
const FILE = 'swiftshader-driver-5-0-0.json'
const COSTS = { dispatch: 12.5, hop: 0.25 }

function open(t: Test) {
  const directory = t.testdir()
  const warnings: string[] = []
  return {
    directory,
    warnings,
    path: join(directory, 'calibration', FILE),
    load: (adapter = ADAPTER) =>
      loadCosts(TRAVERSAL_COSTS, directory, adapter, (message) => warnings.push(message)),
    store: (costs: CostsOf<'traversalCosts'>, adapter = ADAPTER) =>
      storeCosts(TRAVERSAL_COSTS, directory, adapter, costs),
  }
}

t.test('costs come back as they were stored, for their adapter only', async (t) => {
  const { directory, warnings, path, load, store } = open(t)
  t.equal(await load(), undefined)
  await store(COSTS)
  t.strictSame(await load(), COSTS)
  await store({ dispatch: 7 })
  t.strictSame(await load(), { dispatch: 7 })
  t.equal(await load('NVIDIA H200'), undefined)
  t.strictSame(warnings, [])
  t.match(JSON.parse(readFileSync(path, 'utf8')), { version: TRAVERSAL_COSTS.version, adapter: ADAPTER })
  t.strictSame(readdirSync(join(directory, 'calibration')), [FILE], 'nothing else is left')
})

t.test('a file that cannot be used is reported, and replaced', async (t) => {
  const { directory, warnings, path, load, store } = open(t)
  mkdirSync(join(directory, 'calibration'))
  const whole = { version: TRAVERSAL_COSTS.version, adapter: ADAPTER, costs: COSTS }
  const cases: [string, RegExp][] = [
    ['{"version": 1, "costs"', /cannot be read/],
    ['', /cannot be read/],
    ['null', /has version none/],
    [JSON.stringify({ ...whole, version: TRAVERSAL_COSTS.version + 1 }), /has version \d+, not \d+/],
    [JSON.stringify({ ...whole, adapter: 'SwiftShader driver 5.0.0' }), /is of another adapter/],
    [JSON.stringify({ ...whole, costs: { ...COSTS, hop: '1' } }), /not all numbers/],
    [JSON.stringify({ ...whole, costs: { hop: Number.POSITIVE_INFINITY } }), /not all numbers/],
    [JSON.stringify({ ...whole, costs: [1] }), /not all numbers/],
    [JSON.stringify({ ...whole, costs: undefined }), /not all numbers/],
  ]
  for (const [content, message] of cases) {
    writeFileSync(path, content)
    t.equal(await load(), undefined, content)
    t.match(warnings.pop(), message)
    t.equal(readFileSync(path, 'utf8'), content, 'it is left as it is')
    await store(COSTS)
    t.strictSame(await load(), COSTS)
  }
  t.strictSame(warnings, [])
})

t.test('any name of an adapter makes a file', async (t) => {
  const { directory, load, store } = open(t)
  const names = ['', '..', '../../x', 'ä/ö', `GPU ${'x'.repeat(500)}`]
  for (const name of names) {
    await store(COSTS, name)
    t.strictSame(await load(name), COSTS, name.slice(0, 20))
  }
  t.strictSame(readdirSync(directory), ['calibration'])
})

t.test('costs of selections have a file of their own, and must be all there', async (t) => {
  const { directory, warnings, load, store } = open(t)
  const both = { word: 1, wide: 2 }
  const predicate = { interval: 0, search: 1, table: 1, expression: 3 }
  const curve = [
    { share: 0.5, value: 0.75 },
    { share: 1, value: 1 },
  ]
  const part = { string: curve, byte: curve }
  const match = { row: 0, string: 1, byte: 1, part, branched: curve, tile: 1024, tiles: 8 }
  const rest = { gather: both, mark: 1, write: 1, copy: 1, predicate, match, launch: 5000, roundTrip: 20_000 }
  const rates = { word: [1, 0.8], wide: [1] }
  const costs = {
    workgroup: 256,
    scan: both,
    rates,
    granule: 8,
    branch: curve,
    branching: 1,
    gathering: 1,
    ...rest,
  }
  const loadSelections = () =>
    loadCosts(SELECTION_COSTS, directory, ADAPTER, (message) => warnings.push(message))
  await store(COSTS)
  await storeCosts(SELECTION_COSTS, directory, ADAPTER, costs)
  t.strictSame(await loadSelections(), costs)
  t.strictSame(await load(), COSTS)
  t.strictSame(warnings, [])
  const path = join(directory, 'calibration', 'swiftshader-driver-5-0-0-selections.json')
  const damaged = [
    {},
    null,
    { ...costs, launch: -1 },
    { ...costs, scan: { word: 1 } },
    { ...costs, rates: { word: [1], wide: [] } },
    { ...costs, predicate: { ...predicate, table: null } },
    { ...costs, match: undefined },
    { ...costs, branch: [] },
    { ...costs, branch: curve.toReversed() },
    { ...costs, branch: curve.slice(0, 1) },
    { ...costs, branch: [{ share: 1, value: -1 }] },
    { ...costs, branching: -1 },
    { ...costs, match: { ...match, part: { string: curve } } },
    { ...costs, match: { ...match, branched: undefined } },
  ]
  for (const each of damaged) {
    writeFileSync(path, JSON.stringify({ version: SELECTION_COSTS.version, adapter: ADAPTER, costs: each }))
    t.equal(await loadSelections(), undefined)
    t.match(warnings.pop(), /damaged/)
  }
})
