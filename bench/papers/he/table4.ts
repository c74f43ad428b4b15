import { median, type Row, spreadOf } from '../../report.js'
import type { JoinTime } from './device-join.js'
import { type DuckTime, duckJoin } from './duckdb-join.js'
import { hostJoin, type TimedOutcome } from './host-join.js'
import { ALGORITHMS, type JoinBench, ms, show, timeFigures } from './join-bench.js'
import { uniqueKeys, type Workload, widened } from './workload.js'

/** He's Table 4, with the stages of Figure 12: joins of unique random keys in different orders, of which each row matches one. */
export async function benchTable4(bench: JoinBench, count: number, nested: number): Promise<Row[]> {
  const workload = uniqueKeys(count)
  const model = hostJoin(workload)
  return [
    ...(await benchAlgorithms(bench, workload, model)),
    ...(await benchNested(bench, nested)),
    ...(await benchWide(bench, workload, model)),
    ...(await benchInOrder(bench, workload)),
  ]
}

async function benchAlgorithms(bench: JoinBench, workload: Workload, model: TimedOutcome): Promise<Row[]> {
  const count = workload.left.length
  const duck = await duckJoin({ count })
  const title = titleOf(count)
  const rows: Row[] = [
    { name: `${title}: hash join in TypeScript`, figures: { ms: model.ms } },
    { name: `${title}: DuckDB`, figures: duckFigures(duck) },
  ]
  if (duck !== undefined && duck.pairs !== model.pairs) throw new Error(`DuckDB found ${duck.pairs} pairs`)
  const times = await bench.times(workload, ALGORITHMS, model)
  for (const [i, algorithm] of ALGORITHMS.entries()) {
    const figures = comparedFigures(times[i]!, count, model.ms, duck && median(duck.ms))
    rows.push({ name: `${title}: ${algorithm}`, figures })
  }
  for (const [i, algorithm] of ALGORITHMS.entries()) {
    const figures = { all: ms(times[i]!), ...times[i]!.stages }
    rows.push({ name: `Figure 12, ${algorithm}, ms`, figures })
  }
  return [...rows, ...ALGORITHMS.flatMap((algorithm, i) => kernelRows(algorithm, times[i]!))]
}

/** He's NINLJ compares all pairs, of fewer rows. */
async function benchNested(bench: JoinBench, count: number): Promise<Row[]> {
  const workload = uniqueKeys(count)
  const model = hostJoin(workload)
  const [time] = (await bench.times(workload, ['ninlj'], model)) as [JoinTime]
  const figures = {
    ...comparedFigures(time, count, model.ms, undefined),
    'G comparisons/s': count ** 2 / ms(time) / 1e6,
  }
  return [{ name: `${titleOf(count)}: ninlj`, figures }, ...kernelRows('ninlj', time)]
}

/** Keys of 64 bits. */
async function benchWide(bench: JoinBench, { left, right }: Workload, model: TimedOutcome): Promise<Row[]> {
  const count = left.length
  const workload = { left: widened(left), right: widened(right) }
  const times = await bench.times(workload, ALGORITHMS, model, { keyWords: 2 })
  return ALGORITHMS.map((algorithm, i) => ({
    name: `${show(count)} ⋈ ${show(count)}, u64: ${algorithm}`,
    figures: { ...timeFigures(times[i]!), 'M rows/s': (2 * count) / ms(times[i]!) / 1e3 },
  }))
}

/** Sides whose keys lie in order. */
async function benchInOrder(bench: JoinBench, { left, right }: Workload): Promise<Row[]> {
  const rows: Row[] = []
  for (const [name, algorithm, sorted] of [
    ['inlj, the right side is in order', 'inlj', ['right']],
    ['smj, both sides are in order', 'smj', ['left', 'right']],
  ] as const) {
    const workload = { left: sorted.length > 1 ? left.toSorted() : left, right: right.toSorted() }
    const model = hostJoin(workload)
    const [time] = await bench.times(workload, [algorithm], model, { sorted })
    const figures = comparedFigures(time!, left.length, model.ms, undefined)
    rows.push({ name: `${titleOf(left.length)}: ${name}`, figures })
  }
  return rows
}

/**
 * He's Table 5, join processing and the whole with transfers; DirectX's columns have no twin, since WebGPU has one way to a GPU. The
 * share of transfers is that of Figure 12.
 */
export async function benchTable5(bench: JoinBench, count: number, nested: number): Promise<Row[]> {
  const rows: Row[] = []
  for (const [algorithms, size] of [
    [ALGORITHMS, count],
    [['ninlj'], nested],
  ] as const) {
    const workload = uniqueKeys(size)
    const model = hostJoin(workload)
    const joins = await bench.times(workload, algorithms, model)
    const totals = await bench.withTransfers(workload, algorithms, model)
    for (const [i, algorithm] of algorithms.entries()) {
      const figures = {
        ...spreadOf('join ms', joins[i]!.wall),
        ...spreadOf('total ms', totals[i]!),
        'host ms': model.ms,
        'times as fast': model.ms / median(totals[i]!),
      }
      rows.push({ name: `Table 5, ${show(size)}, ${algorithm}`, figures })
    }
  }
  return rows
}

/** DuckDB's figures, or why there are none. */
function duckFigures(duck: DuckTime | undefined): Record<string, number | string> {
  return duck === undefined ? { ms: 'not installed' } : { ...spreadOf('ms', duck.ms), threads: duck.threads }
}

function comparedFigures(
  time: JoinTime,
  count: number,
  hostMs: number,
  duckMs: number | undefined,
): Record<string, number | string> {
  return {
    ...timeFigures(time),
    'M rows/s': (2 * count) / ms(time) / 1e3,
    'to TypeScript': hostMs / ms(time),
    'to DuckDB': duckMs === undefined ? 'not installed' : duckMs / median(time.wall),
  }
}

function kernelRows(algorithm: string, { byKernel }: JoinTime): Row[] {
  return byKernel.map(({ kernel, dispatches, microseconds }) => ({
    name: `${algorithm}: ${kernel}`,
    figures: { dispatches, µs: microseconds },
  }))
}

function titleOf(count: number): string {
  return `${show(count)} ⋈ ${show(count)}`
}
