import t, { type Test } from 'tap'
import { barChart } from '../../bench/plot/bar-chart.js'
import { lineChart } from '../../bench/plot/line-chart.js'
import { prefixed } from '../../bench/plot/svg.js'

/** Elements by name; fails where tags do not match, or where something stands that XML does not allow. */
function elements(t: Test, svg: string): Map<string, number> {
  const counts = new Map<string, number>()
  const open: string[] = []
  const token =
    /<(\/?)([a-z]+)((?: [a-zA-Z][a-zA-Z0-9-]*="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)(\/?)>|([^<]+)/y
  for (let at = 0; at < svg.length; at = token.lastIndex) {
    token.lastIndex = at
    const match = token.exec(svg)
    if (match === null) {
      t.fail(`not well-formed: ${svg.slice(at, at + 80)}`)
      break
    }
    const [, closes, name = '', , empty, content] = match
    if (content !== undefined) t.notMatch(content, /&(?!amp;|lt;|gt;|quot;)/)
    else if (closes === '/') t.equal(open.pop(), name)
    else {
      counts.set(name, (counts.get(name) ?? 0) + 1)
      if (empty !== '/') open.push(name)
    }
  }
  t.same(open, [])
  t.notMatch(svg, /NaN|Infinity|undefined/)
  return counts
}

t.test('a line chart has its points, its missing ones, and names of all series', async (t) => {
  const series = Array.from({ length: 10 }, (_, i) => ({
    name: `series <${i}> & "more"`,
    points: [1, 10, 100].map((x) => ({ x, y: x * (i + 1) })),
    missing: i < 3 ? [{ x: 1000, reason: '420 GB of result table' }] : [],
  }))
  const svg = lineChart({ title: 'a < b', x: 'keys', y: 'µs', series })
  const counts = elements(t, svg)
  t.equal(counts.get('circle'), 30)
  t.equal(counts.get('path'), 3)
  t.equal(counts.get('polyline'), 10)
  t.match(svg, 'a &lt; b')
  t.match(svg, '420 GB of result table')
  for (const tick of ['>1<', '>10<', '>100<', '>1k<']) t.match(svg, tick)
})

t.test('points lie where their logarithms say', async (t) => {
  const points = [1, 10, 100].map((x) => ({ x, y: 1000 / x }))
  const svg = lineChart({ title: '', x: '', y: '', series: [{ name: '', points, missing: [] }] })
  const places = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(
    ([, x, y]) => [+x!, +y!] as const,
  )
  const [first, second, third] = places
  t.ok(Math.abs(second![0] - (first![0] + third![0]) / 2) < 0.02)
  t.ok(first![0] < third![0])
  t.ok(first![1] < third![1], 'larger values stand higher')
})

t.test('charts of one point, of none, and of missing ones only', async (t) => {
  const missing = [{ x: 5, reason: 'none' }]
  for (const points of [[], [{ x: 4, y: 2 }]]) {
    elements(t, lineChart({ title: '', x: '', y: '', series: [{ name: '', points, missing: [] }] }))
    elements(t, lineChart({ title: '', x: '', y: '', series: [{ name: '', points, missing }] }))
  }
  elements(t, lineChart({ title: '', x: '', y: '', series: [] }))
  elements(t, barChart({ title: '', x: '', y: '', parts: [], bars: [] }))
})

t.test('a bar chart stacks its parts', async (t) => {
  const bars = [
    { name: 'one, two', values: [1, 2, 3] },
    { name: 'three', values: [0, 4, 0] },
  ]
  const svg = barChart({ title: '', x: '', y: 'µs', parts: ['a', 'b', 'c'], bars })
  elements(t, svg)
  const boxes = [...svg.matchAll(/y="([\d.]+)" width="[\d.]+" height="([\d.]+)" fill="#[\da-f]+"><title>/g)]
  const [first, second, third] = boxes.map(([, y, height]) => ({ y: +y!, height: +height! }))
  t.equal(boxes.length, 6)
  t.ok(Math.abs(second!.y + second!.height - first!.y) < 0.02)
  t.ok(Math.abs(third!.height - 3 * first!.height) < 0.05)
})

t.test('numbers are short', async (t) => {
  t.same([0.5, 1, 999, 1000, 1500, 2e6, 4.2e11].map(prefixed), [
    '0.5',
    '1',
    '999',
    '1k',
    '1.5k',
    '2M',
    '420G',
  ])
})
