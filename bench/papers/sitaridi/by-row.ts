import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import { byTurns, type Effort, KernelTimer } from '../../kernel-time.js'
import { leastAndMost, median } from '../../report.js'
import { keepWarm, warmUp } from '../../warm-up.js'
import { PAPER_KERNELS } from '../kernels.js'
import { commonQ2, gridOf, type PointRow } from './figures.js'
import type { SelectBench } from './setting.js'
import { boundOf, randomTable, type SelectTable } from './workload.js'

/** Q2's plans of one kernel, and which of their operators branch. */
const PLANS: Readonly<Record<string, readonly (1 | 2 | 3)[]>> = {
  S1111: [1, 2, 3],
  S112: [1, 2],
  S121: [1, 3],
  S13: [1],
  S211: [2, 3],
  S22: [2],
  S31: [3],
  S4: [],
}

const COLUMNS = 4

/** Rows of a workgroup; as in `by-row.wesl`. */
const TILE = 16 * 256

/** A plan of Q2 that branches by row (`by-row.wesl`), to be measured beside kernels that branch by what several rows have left. */
class ByRow {
  readonly #kernels: Kernels<'count_rows'>

  constructor(device: Device, branches: readonly number[]) {
    const conditions = Object.fromEntries([1, 2, 3].map((i) => [`branch_${i}`, branches.includes(i)]))
    this.#kernels = device.kernels('sitaridi/by-row', ['count_rows'], conditions, PAPER_KERNELS)
  }

  /** @param total to which the number of rows that pass is added */
  record(recorder: Recorder, { rows, columns }: SelectTable, bound: number, total: DeviceMemory): void {
    const [first, second, third, fourth] = [0, 1, 2, 3].map((i) => columns[i]!.values)
    const buffers = { first: first!, second: second!, third: third!, fourth: fourth!, total }
    recorder.dispatchGroups(this.#kernels.count_rows, buffers, { rows, bound }, Math.ceil(rows / TILE))
  }
}

/** Figure 2 by kernels whose `&&` is taken by row, in turns. */
export async function measureByRow(setting: SelectBench, effort: Effort): Promise<PointRow[]> {
  const { device, primitives, rows } = setting
  const plans = Object.entries(PLANS).map(([name, branches]) => ({
    name,
    plan: new ByRow(device, branches),
  }))
  const table = await randomTable(device, rows, COLUMNS)
  const scratch = device.scratch()
  const total = scratch.words(1)
  const timer = new KernelTimer(device)
  const points: PointRow[] = []
  try {
    const axis = commonQ2(table, gridOf(setting).linear)
    await warmUp(device, primitives)
    for (const { selectivity, count } of axis) {
      const bound = boundOf(selectivity)
      const turns = plans.map(({ name, plan }) => async () => {
        await keepWarm(device, primitives)
        device.upload(total, new Uint8Array(4))
        const microseconds = await timer.time((recorder) => plan.record(recorder, table, bound, total))
        const [found] = await device.readWords(total, 1)
        if (found !== count) throw new Error(`${name} by row counted ${found} rows, not ${count}`)
        return microseconds / 1e3
      })
      const taken = await byTurns(effort, turns)
      const times = plans.map(({ name }, i) => ({
        name,
        ms: median(taken[i]!),
        spread: leastAndMost(taken[i]!),
      }))
      const best = times.reduce((one, other) => (other.ms < one.ms ? other : one))
      const figures = { best: best.name, 'best ms': best.ms }
      points.push({ name: `Figure 2 by row, selectivity ${selectivity}`, figures, selectivity, plans: times })
    }
    return points
  } finally {
    timer.destroy()
    scratch.release()
    table.destroy()
  }
}
