import { GetTimer } from '../../../gpu/index/partitions/get-timer.js'
import { partsFor } from '../../../gpu/index/parts.js'
import type { Traversal } from '../../../protocol/traversal.js'
import { pickKeys } from '../../keys.js'
import { DATA_SETS, type DataSet } from './data-sets.js'
import type { DeviceTools } from './device-subject.js'
import type { FigureRow } from './figures.js'
import type { Plan } from './plan.js'
import { insertedArena, SHAPE } from './tree-subject.js'

const HIERARCHICAL: Traversal = { strategy: 'hierarchical', resolution: 'serial' }

/** Levels of a partition: few, so that there are many bands to put into blocks, √N, and so many that few partitions are left. */
const LEVELS = [4, 'auto', 64] as const

/** Keys of a batch. Where blocks have few partitions, several keys share a workgroup. */
const BATCHES = [1, 8, 64, 512]

/**
 * Gets by blocks of all heights, from one band of partitions, which needs no block, to |B| = N (Volk §3.2): a row for each height, a cell
 * for each batch.
 */
export async function measureBlocks(tools: DeviceTools, plan: Plan): Promise<FigureRow[]> {
  const rows: FigureRow[] = []
  for (const set of [DATA_SETS.a, DATA_SETS.b]) {
    for (const keys of new Set([plan.sizes[0]!, plan.batchSizes[0]!])) {
      for (const partitionLevels of LEVELS) {
        rows.push(...(await measureTree(tools, plan, set, keys, partitionLevels)))
      }
    }
  }
  return rows
}

async function measureTree(
  { device, warm }: DeviceTools,
  { effort, mostSeconds }: Plan,
  set: DataSet,
  keys: number,
  partitionLevels: (typeof LEVELS)[number],
): Promise<FigureRow[]> {
  const shape = { ...SHAPE, layout: 'full', partitionLevels } as const
  const parts = await partsFor(device, shape)
  const locator = parts.locator!
  const column = set.keys(keys)
  const arena = await insertedArena(device, shape, parts.writer, column)
  try {
    const table = await locator.partitions(arena)
    const heights = heightsOf(table.bands)
    const cells = heights.map((): Record<string, number | string> => ({}))
    for (const batch of BATCHES) {
      const timer = new GetTimer(warm, parts.reads, pickKeys(column, keys, batch))
      const ways = heights.map((blockBands) => ({ ...HIERARCHICAL, blockBands }))
      const [expected] = await timer.times(locator, arena, ways.slice(0, 1), 1)
      const times =
        expected! / 1e6 > mostSeconds ? [] : await timer.times(locator, arena, ways, effort.repeats)
      for (const [i, cell] of cells.entries()) cell[`batch ${batch}`] = times[i] ?? 'omitted: takes too long'
      timer.release()
    }
    const rows: FigureRow[] = []
    for (const [i, blockBands] of heights.entries()) {
      const { lists } = await locator.plan(arena, { ...HIERARCHICAL, blockBands })
      const height = blockBands === table.bands ? 'N' : `${blockBands} m`
      rows.push({
        name: `blocks ${set.name}, ${keys} keys, m = ${table.levels}, |B| = ${height}`,
        keys,
        batch: 0,
        levels: blockBands * table.levels,
        unit: 'microseconds',
        figures: {
          ...cells[i],
          'workgroups a key': (lists?.blockCount ?? 0) / (lists?.sharing ?? 1),
          'keys sharing one': lists?.sharing ?? 1,
        },
      })
    }
    return rows
  } finally {
    arena.destroy()
  }
}

/** Doubling bands up to those of the whole tree. */
function heightsOf(bands: number): number[] {
  const heights = new Set([bands])
  for (let height = 1; height < bands; height *= 2) heights.add(height)
  return [...heights].sort((one, other) => one - other)
}
