import type { Arena } from '../../../gpu/index/arena.js'
import { treeShape } from '../../../gpu/index/layout.js'
import { calibrate } from '../../../gpu/index/partitions/calibration.js'
import { GetTimer } from '../../../gpu/index/partitions/get-timer.js'
import { batchOf } from '../../../gpu/index/partitions/traversal-costs.js'
import { type Parts, partsFor } from '../../../gpu/index/parts.js'
import { LAYOUTS, TRAVERSALS, type Traversal } from '../../../protocol/traversal.js'
import { type KeyBlob, pickKeys } from '../../keys.js'
import { median } from '../../report.js'
import { DATA_SETS } from './data-sets.js'
import type { DeviceTools } from './device-subject.js'
import type { FigureRow } from './figures.js'
import type { Plan } from './plan.js'
import { insertedArena, SHAPE } from './tree-subject.js'

/** Queries times partitions from which on the strategies that go down all partitions are left out: they are far from the best by then. */
const MOST_RESULTS = 2 ** 26

const REPEATS = 15

/**
 * How far the planner's choices are from the best traversal, over data sets, layouts, sizes and batches. The device is calibrated
 * first, as an engine does it.
 */
export async function measurePlanner(
  tools: DeviceTools,
  { batchSizes, batches }: Plan,
): Promise<FigureRow[]> {
  const { device } = tools
  const start = performance.now()
  device.traversalCosts = await calibrate(device)
  console.log(`calibrated in ${((performance.now() - start) / 1e3).toFixed(1)} s`)
  const rows: FigureRow[] = []
  for (const set of Object.values(DATA_SETS)) {
    for (const layout of LAYOUTS) {
      const shape = { ...SHAPE, layout, partitionLevels: 'auto' as const }
      const parts = await partsFor(device, shape)
      for (const keys of batchSizes) {
        const column = set.keys(keys)
        const arena = await insertedArena(device, shape, parts.writer, column)
        for (const batch of batches) {
          const queries = pickKeys(column, keys, batch)
          const timer = new GetTimer(tools.warm, parts.reads, queries)
          rows.push(await measureChoice(`${set.name}, ${layout}`, keys, parts, arena, timer, queries))
          timer.release()
        }
        arena.destroy()
      }
    }
  }
  const ratios = rows.map(({ figures }) => Number(figures.ratio))
  const within = ratios.filter((ratio) => ratio <= 1.15).length
  console.log(`${within} of ${rows.length} choices within 15 %; the middle is ${median(ratios).toFixed(3)}`)
  return rows
}

async function measureChoice(
  what: string,
  keys: number,
  { locator, traversals }: Parts,
  arena: Arena,
  timer: GetTimer,
  queries: KeyBlob,
): Promise<FigureRow> {
  const batch = queries.offsets.length - 1
  const described = batchOf(treeShape(SHAPE), queries)
  const chosen = await traversals!.explain(arena, keys, described, undefined)
  const table = await locator!.partitions(arena)
  const timed = TRAVERSALS.filter(({ strategy }) => {
    const visitsAll = strategy === 'speculative' || strategy === 'hierarchical'
    return !visitsAll || batch * table.count <= MOST_RESULTS
  })
  const taken = await timer.times(locator!, arena, timed, REPEATS)
  const times = new Map(timed.map((traversal, i) => [nameOf(traversal), taken[i]!]))
  const [best, least] = [...times].reduce((one, other) => (other[1] < one[1] ? other : one))
  const measured = times.get(nameOf(chosen))!
  return {
    name: `planner ${what}, ${keys} keys, batch ${batch}`,
    keys,
    batch,
    unit: 'microseconds',
    figures: {
      chosen: nameOf(chosen),
      estimated: chosen.costs[0]?.microseconds ?? 0,
      measured,
      best,
      least,
      ratio: measured / least,
    },
  }
}

function nameOf({ strategy, resolution }: Traversal): string {
  return resolution === undefined ? strategy : `${strategy} ${resolution}`
}
