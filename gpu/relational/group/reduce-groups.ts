import type { TypedAggregate } from '../../../protocol/query/typed.js'
import type { Kernel } from '../../device/kernel.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import { groupsFor } from '../../primitives/strategy.js'
import type { RecordedGroups } from '../order/row-groups.js'
import type { DeviceWork } from '../query/device-work.js'
import { type QueryColumn, valueWords } from '../query/query-column.js'
import type { Table } from '../query/table.js'
import { fittingPlans, type PartialPlan } from './fitting-plans.js'
import { faultsOf, type GroupedRows, type GroupPlan, statePlan } from './group-plan.js'
import { aggregateResults, writeResults } from './group-results.js'
import { stretchOf } from './slot-groups.js'

/** Rows of a tile; as in `reduce-groups.wesl`. */
const TILE = { cooperative: 4096, serial: 1024 }

/** Bytes that results may take before it is known how many there are, so that nobody waits for their number alone. */
const MOST_UNREAD_BYTES = 64 * 2 ** 20

/**
 * Aggregates all rows as one group.
 * @returns undefined where no kernel can bind what the rows are read from
 */
export async function reduceAll(
  work: DeviceWork,
  rows: GroupedRows,
  aggregates: readonly TypedAggregate[],
): Promise<{ readonly columns: readonly QueryColumn[]; readonly rows: DeviceWord } | undefined> {
  const plans = fittingStates(work, rows, aggregates, 2, false)
  if (plans === undefined) return undefined
  const columns: QueryColumn[] = []
  let grouped: DeviceWord | undefined
  for (const { plan, first } of plans) {
    const { words } = plan.states
    const states = await reduceRows(work, rows.table, plan)
    grouped ??= { buffer: states, index: 0 }
    const live = work.kernels.primitives.unbounded
    const groups = { states, words, count: 1, live, entryPoint: 'finish_groups' } as const
    columns.push(...(await writeResults(work, groups, aggregateResults(plan.states, first))))
  }
  return { columns, rows: grouped! }
}

/**
 * Aggregates the rows of groups in order (`reduce-groups.wesl`).
 * @returns undefined as `reduceAll`
 */
export async function reduceOrdered(
  work: DeviceWork,
  rows: GroupedRows,
  groups: RecordedGroups,
  aggregates: readonly TypedAggregate[],
): Promise<{ readonly count: number; readonly columns: readonly QueryColumn[] } | undefined> {
  const plans = aggregates.length === 0 ? [] : fittingStates(work, rows, aggregates, 5, true)
  if (plans === undefined) return undefined
  const results = plans.map(({ plan, first }) => aggregateResults(plan.states, first))
  const words =
    plans.reduce((sum, { plan }) => sum + plan.states.words, 0) +
    results.flat().reduce((sum, { type }) => sum + valueWords(type), 0)
  const read = async () => (await work.read([groups.total]))[0]!
  const isLarge = rows.table.rows * words * 4 > MOST_UNREAD_BYTES
  const known = groups.count ?? (isLarge ? await read() : undefined)
  const most = known ?? rows.table.rows
  const columns: QueryColumn[] = []
  for (const [i, { plan }] of plans.entries()) {
    const states = await reduceTiles(work, rows.table, groups, plan, most)
    const reduced = {
      states,
      words: plan.states.words,
      count: most,
      live: groups.total,
      entryPoint: 'finish_groups',
    } as const
    columns.push(...(await writeResults(work, reduced, results[i]!)))
  }
  const count = known ?? (await read())
  work.movedBytes += count * words * 4
  return { count, columns }
}

/** @param others buffers of states that the kernels bind beside the rows' and the faults */
function fittingStates(
  work: DeviceWork,
  rows: GroupedRows,
  aggregates: readonly TypedAggregate[],
  others: number,
  hasKeys: boolean,
): PartialPlan[] | undefined {
  const { maxComputeWorkgroupStorageSize } = work.device.gpu.limits
  // A state for each invocation, and a word.
  const mostWords = Math.floor(maxComputeWorkgroupStorageSize / 4 / GROUP_SIZE) - 1
  const make = (part: readonly TypedAggregate[]) => statePlan(rows, part, hasKeys)
  return fittingPlans(work, aggregates, others + 1, make, ({ states }) => states.words <= mostWords)
}

async function reduceRows(work: DeviceWork, { rows }: Table, plan: GroupPlan): Promise<GPUBuffer> {
  const [reduce, combine] = await kernelsOf(work, plan, ['reduce_all', 'combine_all'])
  const { words } = plan.states
  const stretch = stretchOf(work, rows)
  const parts = Math.ceil(rows / stretch)
  const edges = work.words(parts * words)
  const states = work.words(words)
  const buffers = { ...plan.code.buffers(work), edges, states, faults: faultsOf(work, plan) }
  const params = { count: rows, stretch, tiles: parts }
  work.recorder.dispatchGroups(reduce!, buffers, params, parts, { weight: plan.code.weight })
  work.recorder.dispatchGroups(combine!, buffers, params, 1)
  return states
}

async function reduceTiles(
  work: DeviceWork,
  { rows }: Table,
  { order, starts, total }: RecordedGroups,
  plan: GroupPlan,
  most: number,
): Promise<GPUBuffer> {
  const { strategy } = work.kernels.primitives
  const suffix = strategy === 'serial' ? '_serial' : ''
  const [reduce, finish] = await kernelsOf(work, plan, [`reduce_tiles${suffix}`, `finish_tiles${suffix}`])
  const { words } = plan.states
  const tiles = Math.ceil(rows / (strategy === 'serial' ? TILE.serial : TILE.cooperative))
  const states = work.scratch.words(most * words)
  const edges = work.words(2 * tiles * words)
  const buffers = {
    ...plan.code.buffers(work),
    states,
    edges,
    order: order ?? work.absent,
    starts,
    live: total.buffer,
    faults: faultsOf(work, plan),
  }
  const isOrdered = order === undefined ? 1 : 0
  const params = { count: rows, groups: most, liveIndex: total.index, tiles, isOrdered }
  const groups = groupsFor(strategy, tiles)
  work.recorder.dispatchGroups(reduce!, buffers, params, groups, { weight: plan.code.weight })
  work.recorder.dispatchGroups(finish!, buffers, params, groups)
  return states
}

function kernelsOf(work: DeviceWork, { text }: GroupPlan, entryPoints: readonly string[]): Promise<Kernel[]> {
  const generated = { module: 'relational/group/plan', text }
  const description = { module: 'relational/group/reduce-groups', generated }
  return Promise.all(entryPoints.map((name) => work.kernels.generated.get(description, name)))
}
