import t from 'tap'
import {
  encodeHistogram,
  latencyCurve,
  latencyFigures,
  latencyHistogram,
  mergedHistogram,
  recordMilliseconds,
} from '../../../clients/load-test/histogram.js'
import { htmlReport } from '../../../clients/load-test/html-report.js'
import type { LoadTestOptions } from '../../../clients/load-test/options.js'
import { type IntervalPart, Recorder } from '../../../clients/load-test/recorder.js'
import { hasFailed, makeReport } from '../../../clients/load-test/report.js'
import { reportLines } from '../../../clients/load-test/text-report.js'
import { Random, seedOfRun } from '../../random.js'

const OPTIONS: LoadTestOptions = {
  workload: 'b',
  url: 'redis://user:secret@127.0.0.1:1',
  token: 'hush',
  index: 'loadtest',
  keyType: 'u64',
  payloadKind: 'bytes',
  payloadBytes: 100,
  records: 1000,
  distribution: 'zipfian',
  batch: 10,
  scanLength: 100,
  processes: 2,
  connections: 3,
  depth: 4,
  rate: 50,
  arrivals: 'constant',
  warmUp: 0,
  seconds: 2,
  operations: undefined,
  seed: 1,
  verify: true,
  load: true,
  keep: false,
  prepared: 0,
}

/** The value that a share of sorted values does not exceed, by definition. */
function percentile(sorted: readonly number[], share: number): number {
  // 99.9 % of 10,000 are 9,990, which the product is a little more than.
  const rank = Math.ceil((share / 100) * sorted.length - 1e-6)
  return sorted[Math.max(0, rank - 1)]
}

t.test('percentiles of merged histograms are those of all values, to a thousandth', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const parts = Array.from({ length: 5 }, (_, part) =>
    Array.from({ length: 1000 * part }, () => 0.05 * 10 ** (random.below(1e6) / 2e5)),
  )
  const merged = mergedHistogram(
    parts.map((values) => {
      const histogram = latencyHistogram()
      for (const value of values) recordMilliseconds(histogram, value)
      return encodeHistogram(histogram)
    }),
  )
  const sorted = parts.flat().sort((a, b) => a - b)
  t.equal(merged.totalCount, sorted.length)
  const figures = latencyFigures(merged)
  const expected = {
    min: sorted[0],
    p50: percentile(sorted, 50),
    p90: percentile(sorted, 90),
    p99: percentile(sorted, 99),
    p999: percentile(sorted, 99.9),
    p9999: percentile(sorted, 99.99),
    max: sorted.at(-1)!,
  }
  for (const [name, value] of Object.entries(expected)) {
    const found = figures[name as keyof typeof expected]
    // A microsecond is what histograms count.
    t.ok(Math.abs(found - value) <= 0.002 * value + 0.001, `${name}: ${found} for ${value}`)
  }
  const curve = latencyCurve(merged)
  t.equal(curve.at(-1)?.percentile, 100)
  t.ok(curve.every(({ ms }, i) => i === 0 || ms >= curve[i - 1].ms))
  t.same(latencyFigures(latencyHistogram()), {
    min: 0,
    mean: 0,
    p50: 0,
    p90: 0,
    p99: 0,
    p999: 0,
    p9999: 0,
    max: 0,
  })
})

function measured(start: number, latency: number, parts: IntervalPart[]) {
  const recorder = new Recorder(start, 1000, (part) => parts.push(part))
  recorder.answered('read', 10, start, start + latency)
  recorder.answered('update', 10, start + 500, start + 500 + latency)
  recorder.failed('OVERLOADED', start + 1200)
  recorder.answered('read', 10, start + 2000, start + 2000 + latency)
  recorder.late(0.5)
  const verification = { checked: 20, failures: 1, examples: ['the <key> is wrong'] }
  return { ...recorder.finish(), inserted: 0, existing: 0, unsent: 2, verification }
}

t.test('a report adds up what the processes have measured', async (t) => {
  const parts: IntervalPart[] = []
  const results = [measured(5000, 100, parts), measured(5000, 300, parts)]
  const frame = {
    version: '1.2.3',
    time: '2000-01-01T00:00:00.000Z',
    server: { kind: 'warpdex' as const, version: '1.2.3', adapter: 'an <adapter>' },
    load: { records: 1000, seconds: 2, perSecond: 500 },
    interrupted: false,
    options: OPTIONS,
  }
  const report = makeReport(frame, results, parts, 1000)
  t.match(report, {
    seconds: 2.3,
    errors: { OVERLOADED: 2 },
    operations: { read: { requests: 4, items: 40 }, update: { requests: 2, items: 20 } },
    total: { requests: 6, items: 60 },
    openLoop: { unsent: 4 },
    verification: { checked: 40, failures: 2 },
  })
  t.equal(report.intervals.length, 3)
  t.same(
    report.intervals.map(({ errors }) => errors),
    [0, 2, 0],
  )
  t.same(
    report.intervals.map(({ requestsPerSecond }) => Math.round(requestsPerSecond * 10) / 10),
    [4, 0, 6.7],
  )
  t.ok(Math.abs(report.total.latency.max - 300) < 1)
  t.ok(hasFailed(report))
  t.notOk(hasFailed({ ...report, errors: {}, verification: null }))
  const json = JSON.stringify(report)
  t.notMatch(json, /hush|secret/)
  const text = reportLines(report).join('\n')
  t.match(text, /OVERLOADED/)
  t.match(text, /2 wrong/)
  const page = htmlReport(report)
  t.match(page, /uPlot/)
  t.match(page, /an &lt;adapter&gt;/)
  t.notMatch(page, /hush|secret|the <key>|<link|src=|href=|@import/)
  const data = /<script type="application\/json" id="report">(.*?)<\/script>/s.exec(page)?.[1]
  t.same(JSON.parse(data ?? ''), JSON.parse(json))
})
