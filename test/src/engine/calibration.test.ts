import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CALIBRATION_VERSION, loadCosts, storeCosts } from '../../../src/engine/calibration.js'

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
    load: (adapter = ADAPTER) => loadCosts(directory, adapter, (message) => warnings.push(message)),
  }
}

t.test('costs come back as they were stored, for their adapter only', async (t) => {
  const { directory, warnings, path, load } = open(t)
  t.equal(await load(), undefined)
  await storeCosts(directory, ADAPTER, COSTS)
  t.strictSame(await load(), COSTS)
  await storeCosts(directory, ADAPTER, { dispatch: 7 })
  t.strictSame(await load(), { dispatch: 7 })
  t.equal(await load('NVIDIA H200'), undefined)
  t.strictSame(warnings, [])
  t.match(JSON.parse(readFileSync(path, 'utf8')), { version: CALIBRATION_VERSION, adapter: ADAPTER })
  t.strictSame(readdirSync(join(directory, 'calibration')), [FILE], 'nothing else is left')
})

t.test('a file that cannot be used is reported, and replaced', async (t) => {
  const { directory, warnings, path, load } = open(t)
  mkdirSync(join(directory, 'calibration'))
  const whole = { version: CALIBRATION_VERSION, adapter: ADAPTER, costs: COSTS }
  const cases: [string, RegExp][] = [
    ['{"version": 1, "costs"', /cannot be read/],
    ['', /cannot be read/],
    ['null', /has version none/],
    [JSON.stringify({ ...whole, version: CALIBRATION_VERSION + 1 }), /has version \d+, not \d+/],
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
    await storeCosts(directory, ADAPTER, COSTS)
    t.strictSame(await load(), COSTS)
  }
  t.strictSame(warnings, [])
})

t.test('any name of an adapter makes a file', async (t) => {
  const { directory, load } = open(t)
  const names = ['', '..', '../../x', 'ä/ö', `GPU ${'x'.repeat(500)}`]
  for (const name of names) {
    await storeCosts(directory, name, COSTS)
    t.strictSame(await load(name), COSTS, name.slice(0, 20))
  }
  t.strictSame(readdirSync(directory), ['calibration'])
})
