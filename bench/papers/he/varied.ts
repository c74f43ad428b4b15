import { median, type Row, spreadOf } from '../../report.js'
import { type DuckTime, duckJoin } from './duckdb-join.js'
import { hostBandJoin, hostJoin, type Outcome } from './host-join.js'
import { ALGORITHMS, type Algorithm, deviceTimes, type JoinBench, ms, show } from './join-bench.js'
import { duplicateKeys, uniqueKeys, type Workload } from './workload.js'

const SELECTIVITIES = [0, 0.25, 0.5, 0.75, 1]
const DUPLICATES = [0.25, 0.5, 0.75, 1]

/** Rows of S for one of R, where |S| is varied. */
const SHARES = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]

/** Matches that a left row has on average by a band, where its width is varied; of none only equal keys match. */
const BAND_MATCHES = [0, 1, 4, 16]

/** Algorithms that are measured together, and of how many rows. */
type Sizes = readonly (readonly [algorithms: readonly Algorithm[], count: number])[]

/** NINLJ compares all pairs, so it gets fewer rows than the others, as in the paper. */
function sizesOf(count: number, nested: number): Sizes {
  return [
    [ALGORITHMS, count],
    [['ninlj'], nested],
  ]
}

/** He's Figure 13: selectivity, and left rows of which a share have one key; how much faster than a CPU joins are. */
export async function benchFigure13(bench: JoinBench, count: number, nested: number): Promise<Row[]> {
  const rows: Row[] = []
  for (const [algorithms, size] of sizesOf(count, nested)) {
    for (const selectivity of SELECTIVITIES) {
      const workload = uniqueKeys(size, selectivity)
      const duck = await duckJoin({ count: size, selectivity })
      rows.push(await compared(bench, `selectivity ${selectivity}`, algorithms, workload, duck))
    }
    for (const duplicates of DUPLICATES) {
      const workload = duplicateKeys(size, duplicates)
      const duck = await duckJoin({ count: size, duplicates })
      rows.push(await compared(bench, `duplicates ${duplicates}`, algorithms, workload, duck))
    }
  }
  return rows
}

async function compared(
  bench: JoinBench,
  name: string,
  algorithms: readonly Algorithm[],
  workload: Workload,
  duck: DuckTime | undefined,
): Promise<Row> {
  const model = hostJoin(workload)
  const figures: Record<string, number> = {
    pairs: model.pairs,
    'host ms': model.ms,
    ...duckFigures(duck, model),
  }
  const times = await bench.times(workload, algorithms, model)
  for (const [i, algorithm] of algorithms.entries()) {
    const time = times[i]!
    Object.assign(figures, spreadOf(`${algorithm} ms`, deviceTimes(time)))
    figures[`${algorithm} speedup`] = model.ms / ms(time)
    if (duck !== undefined) figures[`${algorithm} to DuckDB`] = median(duck.ms) / median(time.wall)
  }
  const prefix = algorithms.includes('ninlj') ? 'Figure 13, ninlj' : 'Figure 13'
  return { name: `${prefix}, ${show(workload.left.length)}, ${name}`, figures }
}

/** What DuckDB takes, if it is there. */
function duckFigures(duck: DuckTime | undefined, model: Outcome): Record<string, number> {
  if (duck === undefined) return {}
  if (duck.pairs !== model.pairs) throw new Error(`DuckDB found ${duck.pairs} pairs`)
  return spreadOf('DuckDB ms', duck.ms)
}

/** The paper's first set of experiments: |R| is fixed, |S| varied. */
export async function benchSizes(bench: JoinBench, count: number, nested: number): Promise<Row[]> {
  const rows: Row[] = []
  for (const [algorithms, size] of sizesOf(count, nested)) {
    const { left, right } = uniqueKeys(size)
    for (const share of SHARES) {
      const workload = { left: left.subarray(0, size * share), right }
      const model = hostJoin(workload)
      const duck = duckFigures(await duckJoin({ count: size, leftCount: size * share }), model)
      const times = await bench.times(workload, algorithms, model)
      for (const [i, algorithm] of algorithms.entries()) {
        const figures = {
          pairs: model.pairs,
          'host ms': model.ms,
          ...duck,
          ...spreadOf('ms', deviceTimes(times[i]!)),
          'times as fast': model.ms / ms(times[i]!),
        }
        const sizes = `|R| = ${show(size)}, |S| = ${show(workload.left.length)}`
        rows.push({ name: `${sizes}, ${algorithm}`, figures })
      }
    }
  }
  return rows
}

/** The paper's last set: bands R.key <= S.key <= R.key + δ, by widths δ. A hash join has no bands. */
export async function benchBands(bench: JoinBench, count: number): Promise<Row[]> {
  const algorithms = ['ninlj', 'inlj', 'smj'] as const
  const workload = uniqueKeys(count)
  const rows: Row[] = []
  for (const matches of BAND_MATCHES) {
    const delta = Math.round((matches * 2 ** 32) / count)
    const model = hostBandJoin(workload, delta)
    const times = await bench.times(workload, algorithms, model, { delta: BigInt(delta) })
    const duck = duckFigures(await duckJoin({ count, delta }), model)
    const figures: Record<string, number> = { delta, pairs: model.pairs, 'host ms': model.ms, ...duck }
    for (const [i, algorithm] of algorithms.entries()) {
      Object.assign(figures, spreadOf(`${algorithm} ms`, deviceTimes(times[i]!)))
      figures[`${algorithm} speedup`] = model.ms / ms(times[i]!)
    }
    rows.push({ name: `band, ${show(count)}, ${matches} more matches a row`, figures })
  }
  return rows
}
