import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { measureParts, type PartChoice } from '../../../bench/papers/parts.js'

const ALL = ['a', 'b', 'c'] as const

/** Measures parts, each of which has a row with the number of the run. Returns those that were measured. */
async function measured(path: string, run: number, parts: PartChoice | undefined): Promise<string[]> {
  const asked: string[] = []
  await measureParts({
    suite: 'a paper',
    adapter: 'a device',
    all: ALL,
    parts,
    measure: async (part) => {
      asked.push(part)
      return [{ name: `row of ${part}`, figures: { run } }]
    },
    draw: (_, rows) => new Map([['rows.svg', String(rows.length)]]),
    path,
  })
  return asked
}

function keptIn(t: Test) {
  const folder = t.testdir()
  const path = join(folder, 'paper.json')
  const kept = () => {
    const { rows }: { rows: { part: string; figures: { run: number } }[] } = JSON.parse(
      readFileSync(path, 'utf8'),
    )
    return rows.map(({ part, figures }) => `${part}${figures.run}`)
  }
  return { path, kept, chart: () => readFileSync(join(folder, 'rows.svg'), 'utf8') }
}

t.test('a part that is measured again takes the place of its rows, and others stay', async (t) => {
  const { path, kept, chart } = keptIn(t)
  t.same(await measured(path, 1, undefined), ['a', 'b', 'c'])
  t.same(await measured(path, 2, ['b']), ['b'])
  t.same(kept(), ['a1', 'b2', 'c1'])
  t.equal(chart(), '3')
})

t.test('what is missing is measured, and nothing else', async (t) => {
  const { path, kept } = keptIn(t)
  await measured(path, 1, ['b'])
  t.same(await measured(path, 2, 'missing'), ['a', 'c'])
  t.same(await measured(path, 3, 'missing'), [])
  t.same(kept(), ['a2', 'b1', 'c2'])
})

t.test('a part that there is not is refused before any is measured', async (t) => {
  const { path } = keptIn(t)
  await t.rejects(measured(path, 1, ['a', 'd']), { message: 'a paper has a, b, c, and no d' })
})
