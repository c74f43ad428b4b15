import t from 'tap'
import { byTurns, kernelTime, repeated } from '../../../../bench/kernel-time.js'
import type { KeyBlob } from '../../../../bench/keys.js'
import type { PartRow } from '../../../../bench/papers/parts.js'
import { drawCharts } from '../../../../bench/papers/volk/charts.js'
import { AnswerCheck } from '../../../../bench/papers/volk/check.js'
import { DATA_SETS } from '../../../../bench/papers/volk/data-sets.js'
import { createTools } from '../../../../bench/papers/volk/device-subject.js'
import { Evaluation, FIGURES, type Figure, type FigureRow } from '../../../../bench/papers/volk/figures.js'
import { HostSubject } from '../../../../bench/papers/volk/host-subject.js'
import { CASES, LAYOUTS } from '../../../../bench/papers/volk/tree-subject.js'
import { openDevice } from '../../../gpu/open-device.js'
import { everyOther, seedOfRun } from '../../../random.js'

const PLAN = {
  sizes: [10],
  batchSizes: [10],
  batches: [1, 4],
  levels: [4],
  effort: { repeats: 2, seconds: 0.1 },
  mostSeconds: 1,
}

const CHARTS: Partial<Record<Figure, readonly string[]>> = {
  a: ['8a.svg', 'batches.svg'],
  b: ['8b.svg'],
  c: ['8c.svg'],
  d: ['8d.svg'],
  e: ['8e.svg'],
  f: ['8f.svg'],
}

t.test('every figure has its rows and its chart', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const measured = everyOther(FIGURES, seed)
  const evaluation = new Evaluation(await createTools(await openDevice(t)), PLAN)
  const rows: (FigureRow & PartRow)[] = []
  for (const part of measured) {
    for (const row of await evaluation.measure(part)) rows.push({ ...row, part })
  }
  const subjects = CASES.length + 2
  for (const figure of measured.filter((figure) => ['a', 'b', 'c'].includes(figure))) {
    const own = rows.filter((row) => row.part === figure)
    t.same(
      own.map(({ keys, batch }) => [keys, batch]),
      [
        [10, 1],
        [10, 4],
      ],
    )
    for (const { figures } of own) t.equal(Object.keys(figures).length, subjects)
  }
  for (const figure of measured.filter((figure) => ['inserts', 'getNext'].includes(figure))) {
    const own = rows.filter((row) => row.part === figure)
    t.same(
      own.map(({ batch }) => batch),
      [1, 4],
    )
    for (const { figures } of own) t.equal(Object.keys(figures).length, CASES.length)
  }
  if (measured.includes('blocks')) {
    const blocks = rows.filter(({ name }) => name.includes('random, 10 keys, m = 4'))
    t.equal(blocks[0]!.levels, 4)
    t.ok(blocks.at(-1)!.name.endsWith('|B| = N'))
  }
  if (measured.includes('e')) {
    const memory = rows.find(({ part }) => part === 'e')
    t.equal(Object.keys(memory!.figures).length, 3 * (LAYOUTS.length + 1))
  }
  for (const { figures } of rows) {
    for (const cell of Object.values(figures)) t.ok(typeof cell === 'string' || cell >= 0)
  }
  const charts = measured.flatMap((figure) => CHARTS[figure] ?? [])
  t.same([...drawCharts('a test', rows).keys()].sort(), charts.sort())
})

t.test('without timestamps it is the wall clock', async (t) => {
  const device = await openDevice(t)
  const effort = { repeats: 2, seconds: 1 }
  device.createClock = () => undefined
  const { clock, microseconds } = await kernelTime(device, effort, () => {})
  t.equal(clock, 'submission')
  t.ok(microseconds > 0)
})

t.test('the middle of as many repeats as there is time for', async (t) => {
  const seen: number[] = []
  const enough = await repeated({ repeats: 3, seconds: 100 }, (repeat) => seen.push(repeat))
  t.same(seen, [-3, -2, -1, 0, 1, 2])
  t.same(enough, { middle: 5, repeats: 3 })
  t.same(await repeated({ repeats: 20, seconds: 0 }, () => 7), { middle: 7, repeats: 1 })
})

t.test('several take turns, and one that has had its time is left out', async (t) => {
  const turns: string[] = []
  const values = await byTurns({ repeats: 2, seconds: 0.02 }, [
    (repeat) => turns.push(`fast ${repeat}`),
    async (repeat) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      return turns.push(`slow ${repeat}`)
    },
  ])
  t.same(turns, ['fast -3', 'slow -3', 'fast -2', 'fast -1', 'fast 0', 'fast 1'])
  t.same(
    values.map(({ length }) => length),
    [2, 1],
  )
})

t.test('wrong answers are named', async (t) => {
  const check = new AnswerCheck(DATA_SETS.c, 50)
  const right = await new HostSubject().load(DATA_SETS.c.keys(50))
  await check.run(right)
  const wrong = {
    answers: async (queries: KeyBlob) => (await right.answers(queries)).map((answer) => answer && answer - 1),
    bytes: 0,
    timing: right.timing,
    destroy() {},
  }
  await t.rejects(check.run(wrong), { message: /^https:.*answer \d+, not \d+$/ })
  // One key too many.
  await t.rejects(check.run(await new HostSubject().load(DATA_SETS.c.keys(60))), { message: /not 0$/ })
})
