import { type Row, spreadOf } from '../../report.js'
import { duckJoin, duckSort } from './duckdb-join.js'
import { hostJoin, keysWithRows } from './host-join.js'
import { deviceTimes, type JoinBench, show } from './join-bench.js'
import { checkedTimes, isExactly, type PrimitiveBench, uploadWords } from './primitive-bench.js'
import { uniqueKeys } from './workload.js'

/** Logarithms below the largest number of rows: the paper has 4 M to 16 M. */
const SHORTER = { full: [2, 1, 0], quick: [1, 0] }

/** He's Figure 14 with DuckDB in the place of MonetDB: the sort and the hash join of more and more rows. */
export async function benchFigure14(bench: PrimitiveBench, joins: JoinBench): Promise<Row[]> {
  const rows: Row[] = []
  const counts = SHORTER[bench.quick ? 'quick' : 'full'].map((less) => 2 ** (bench.logarithm - less))
  for (const count of counts) rows.push(await sortRow(bench, count))
  for (const count of counts) rows.push(await joinRow(joins, count))
  return rows
}

/** Rows of a key and their number, sorted by key. */
async function sortRow(bench: PrimitiveBench, count: number): Promise<Row> {
  const { device, primitives } = bench
  const keys = uniqueKeys(count).left
  const begin = performance.now()
  const sorted = new Uint32Array(keysWithRows(keys).sort().buffer)
  const hostMs = performance.now() - begin
  const duck = await duckSort(count)
  const wanted = keys.map((_, i) => sorted[2 * i]!)
  const scratch = device.scratch()
  const source = uploadWords(device, scratch, keys)
  const numbers = uploadWords(
    device,
    scratch,
    keys.map((_, i) => i),
  )
  const [taken] = await checkedTimes(bench, [
    {
      name: 'rows in order',
      record: (recorder, scratch) => primitives.sort(recorder, scratch, source, numbers, count, 1).values,
      check: isExactly('rows in order', wanted),
      words: count,
    },
  ])
  scratch.release()
  const times = taken!.map((microseconds) => microseconds / 1e3)
  return {
    name: `Figure 14, sort, ${show(count)}`,
    figures: comparison(times, hostMs, duck?.ms),
  }
}

async function joinRow(joins: JoinBench, count: number): Promise<Row> {
  const workload = uniqueKeys(count)
  const model = hostJoin(workload)
  const duck = await duckJoin({ count })
  if (duck !== undefined && duck.pairs !== model.pairs) throw new Error(`DuckDB found ${duck.pairs} pairs`)
  const [time] = await joins.times(workload, ['hj'], model)
  const figures = comparison(deviceTimes(time!), model.ms, duck?.ms)
  return {
    name: `Figure 14, hash join, ${show(count)}`,
    figures: { ...figures, ...spreadOf('wall ms', time!.wall) },
  }
}

function comparison(
  times: readonly number[],
  hostMs: number,
  duckMs: readonly number[] | undefined,
): Record<string, number | string> {
  const duck = duckMs === undefined ? { 'DuckDB ms': 'not installed' } : spreadOf('DuckDB ms', duckMs)
  return { ...spreadOf('ms', times), ...duck, 'host ms': hostMs }
}
