import type { Device } from '../../../gpu/device/device.js'
import { Primitives } from '../../../gpu/primitives/primitives.js'
import type { JoinAlgorithm, JoinRequest, JoinSide } from '../../../gpu/relational/joins/join-types.js'
import { QueryKernels } from '../../../gpu/relational/query/query-kernels.js'
import { type Row, shown } from '../../report.js'
import { benchAccessOrder } from './access-order.js'
import { type JoinParts, type JoinTime, readJoin, timeJoin, uploadKeys } from './device-join.js'
import { duckJoin } from './duckdb-join.js'
import { hostJoin, type Outcome, type TimedOutcome } from './host-join.js'
import { benchStringSorts } from './string-sorts.js'
import { benchThreadCounts } from './thread-counts.js'
import { benchWorkgroupMemory } from './workgroup-memory.js'
import { duplicateKeys, uniqueKeys, type Workload, widened } from './workload.js'

export interface JoinBench {
  /** Logarithm of the rows of each side; NINLJ gets fewer. */
  readonly logarithm: number
  readonly quick: boolean
}

/** NINLJ compares all pairs of 2^20 and 2^20 rows, as in He's Table 4; a CPU gets fewer. */
const NESTED_LOGARITHM = { hardware: 20, software: 11 }

/** Figure 13 has this many times fewer rows a side, as a power of two: a model on the host joins them, too. */
const VARIED_SHARE = 2
const SELECTIVITIES = [0, 0.25, 0.5, 0.75, 1]
const DUPLICATES = [0.25, 0.5, 0.75, 1]

/** How much shorter one side is where sides differ. */
const UNEQUAL_SHARE = 16

/** Results of a pass: all of them in most cases. */
const PASS_BYTES = 2 ** 29

/** What is varied besides the sides. */
type Variant = Pick<JoinRequest, 'algorithm'> & Partial<Pick<JoinRequest, 'keyWords'>>

const ALGORITHMS: readonly Exclude<JoinAlgorithm, 'ninlj'>[] = ['inlj', 'smj', 'hj']

/**
 * He et al.'s joins with keys and results on the device: Table 4 with stages of Figure 12, and Figure 13; and what joins
 * are made of, Figures 7 to 10 and 15. `kernels ms` is the
 * device's time by timestamps around each kernel, `wall ms` the time from the call until the last pair is written, round trips included.
 * Every result is compared with that of a plain hash join on the host.
 */
export async function benchJoins(device: Device, { logarithm, quick }: JoinBench): Promise<Row[]> {
  const primitives = await Primitives.create(device)
  const parts = { device, primitives, logarithm, quick }
  const bench = new Bench({ device, kernels: await QueryKernels.create(device, primitives) })
  const count = 2 ** logarithm
  const workload = uniqueKeys(count)
  const model = hostJoin(workload)
  const nested = 2 ** Math.min(logarithm, NESTED_LOGARITHM[device.facts.software ? 'software' : 'hardware'])
  const measurements: readonly (() => Promise<readonly Row[]>)[] = [
    () => bench.table4(workload, model),
    () => bench.nested(nested),
    () => bench.wide(workload, model),
    () => bench.inOrder(workload),
    () => bench.unequal(workload),
    ...(quick ? [] : [() => bench.figure13(2 ** (logarithm - VARIED_SHARE))]),
    () => benchAccessOrder(parts),
    () => benchThreadCounts(parts),
    () => benchWorkgroupMemory(parts),
    () => benchStringSorts(parts),
  ]
  const rows: Row[] = []
  for (const measure of measurements) rows.push(...shown(await measure()))
  return rows
}

class Bench {
  readonly #parts: JoinParts

  constructor(parts: JoinParts) {
    this.#parts = parts
  }

  async table4(workload: Workload, model: TimedOutcome): Promise<Row[]> {
    const count = workload.left.length
    const duck = await duckJoin(count)
    if (duck !== undefined && duck.pairs !== model.pairs) throw new Error(`DuckDB found ${duck.pairs} pairs`)
    const title = `${show(count)} ⋈ ${show(count)}`
    const rows: Row[] = [{ name: `${title}: hash join in TypeScript`, figures: { ms: model.ms } }]
    const duckFigures =
      duck === undefined ? { ms: 'not installed', threads: 0 } : { ms: duck.ms, threads: duck.threads }
    rows.push({ name: `${title}: DuckDB`, figures: duckFigures })
    const stages: Row[] = []
    const kernels: Row[] = []
    await this.#withSides(workload, 1, async (sides) => {
      for (const algorithm of ALGORITHMS) {
        const time = await this.#checked(sides, { algorithm }, model)
        rows.push({ name: `${title}: ${algorithm}`, figures: figuresOf(time, count, model.ms, duck?.ms) })
        stages.push({ name: `Figure 12, ${algorithm}, ms`, figures: stageFigures(time) })
        kernels.push(...kernelRows(algorithm, time))
      }
    })
    return [...rows, ...stages, ...kernels]
  }

  async nested(count: number): Promise<Row[]> {
    const workload = uniqueKeys(count)
    const model = hostJoin(workload)
    const rows: Row[] = []
    await this.#withSides(workload, 1, async (sides) => {
      const time = await this.#checked(sides, { algorithm: 'ninlj' }, model)
      const figures = {
        ...figuresOf(time, count, model.ms, undefined),
        'G comparisons/s': count ** 2 / ms(time) / 1e6,
      }
      rows.push({ name: `${show(count)} ⋈ ${show(count)}: ninlj`, figures }, ...kernelRows('ninlj', time))
    })
    return rows
  }

  /** Table 4 with keys of 64 bits. */
  async wide({ left, right }: Workload, model: TimedOutcome): Promise<Row[]> {
    const count = left.length
    const rows: Row[] = []
    await this.#withSides({ left: widened(left), right: widened(right) }, 2, async (sides) => {
      for (const algorithm of ALGORITHMS) {
        const time = await this.#checked(sides, { algorithm, keyWords: 2 }, model)
        const figures = {
          'kernels ms': ms(time),
          'wall ms': time.wall,
          'M rows/s': (2 * count) / ms(time) / 1e3,
        }
        rows.push({ name: `${show(count)} ⋈ ${show(count)}, u64: ${algorithm}`, figures })
      }
    })
    return rows
  }

  /** Sides whose keys lie in order. */
  async inOrder({ left, right }: Workload): Promise<Row[]> {
    const rows: Row[] = []
    const count = left.length
    for (const [name, algorithm, sorted] of [
      ['inlj, the right side is in order', 'inlj', { left, right: right.toSorted() }],
      ['smj, both sides are in order', 'smj', { left: left.toSorted(), right: right.toSorted() }],
    ] as const) {
      const model = hostJoin(sorted)
      await this.#withSides(sorted, 1, async (sides) => {
        const known = {
          left: { ...sides.left, sorted: sorted.left !== left },
          right: { ...sides.right, sorted: true },
        }
        const time = await this.#checked(known, { algorithm }, model)
        const figures = figuresOf(time, count, model.ms, undefined)
        rows.push({ name: `${show(count)} ⋈ ${show(count)}: ${name}`, figures })
      })
    }
    return rows
  }

  /** Sides of different lengths. */
  async unequal({ left, right }: Workload): Promise<Row[]> {
    const short = { left: left.subarray(0, left.length / UNEQUAL_SHARE), right }
    const model = hostJoin(short)
    const rows: Row[] = []
    await this.#withSides(short, 1, async (sides) => {
      for (const algorithm of ALGORITHMS) {
        const time = await this.#checked(sides, { algorithm }, model)
        const title = `${show(short.left.length)} ⋈ ${show(right.length)}`
        rows.push({ name: `${title}: ${algorithm}`, figures: { 'kernels ms': ms(time) } })
      }
    })
    return rows
  }

  async figure13(count: number): Promise<Row[]> {
    const rows: Row[] = []
    for (const selectivity of SELECTIVITIES) {
      rows.push(await this.#varied(`selectivity ${selectivity}`, uniqueKeys(count, selectivity)))
    }
    for (const share of DUPLICATES) {
      rows.push(await this.#varied(`duplicates ${share}`, duplicateKeys(count, share)))
    }
    return rows
  }

  async #varied(name: string, workload: Workload): Promise<Row> {
    const model = hostJoin(workload)
    const figures: Record<string, number> = { pairs: model.pairs, 'host ms': model.ms }
    await this.#withSides(workload, 1, async (sides) => {
      for (const algorithm of ALGORITHMS) {
        const time = await this.#checked(sides, { algorithm }, model)
        figures[`${algorithm} ms`] = ms(time)
        figures[`${algorithm} speedup`] = model.ms / ms(time)
      }
    })
    return { name: `Figure 13, ${show(workload.left.length)}, ${name}`, figures }
  }

  /** Times a join after a run whose result is compared with the model's. */
  async #checked(sides: Sides, variant: Variant, model: Outcome): Promise<JoinTime> {
    const request = { keyWords: 1, ...sides, ...variant, passBytes: PASS_BYTES } as const
    const found = await readJoin(this.#parts, request)
    if (found.pairs !== model.pairs || found.checksum !== model.checksum) {
      throw new Error(
        `${variant.algorithm} found ${found.pairs} pairs, other ones than the model's ${model.pairs}`,
      )
    }
    return timeJoin(this.#parts, request)
  }

  async #withSides(
    { left, right }: Workload,
    keyWords: 1 | 2,
    work: (sides: Sides) => Promise<void>,
  ): Promise<void> {
    const sides = {
      left: await uploadKeys(this.#parts.device, left, keyWords),
      right: await uploadKeys(this.#parts.device, right, keyWords),
    }
    await work(sides)
    sides.left.destroy()
    sides.right.destroy()
  }
}

interface Sides {
  readonly left: JoinSide
  readonly right: JoinSide
}

/** The device's time where it can be had. */
function ms({ kernels, wall }: JoinTime): number {
  return kernels ?? wall
}

function stageFigures(time: JoinTime): Record<string, number> {
  return { all: ms(time), ...time.stages }
}

function figuresOf(
  time: JoinTime,
  count: number,
  hostMs: number,
  duckMs: number | undefined,
): Record<string, number | string> {
  return {
    'kernels ms': time.kernels ?? 'no timestamps',
    'wall ms': time.wall,
    'M rows/s': (2 * count) / ms(time) / 1e3,
    'to TypeScript': hostMs / ms(time),
    'to DuckDB': duckMs === undefined ? 'not installed' : duckMs / time.wall,
  }
}

function kernelRows(algorithm: string, { byKernel }: JoinTime): Row[] {
  return byKernel.map(({ kernel, dispatches, microseconds }) => ({
    name: `${algorithm}: ${kernel}`,
    figures: { dispatches, µs: microseconds },
  }))
}

function show(count: number): string {
  return count >= 2 ** 20 ? `${count / 2 ** 20} M` : `${count}`
}
