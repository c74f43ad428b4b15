import type { TypedAggregate } from '../../../protocol/query/typed.js'
import type { Kernel } from '../../device/kernel.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import { groupsFor } from '../../primitives/strategy.js'
import { evaluateRows } from '../expressions/evaluate.js'
import type { RowGroups } from '../order/row-groups.js'
import type { DeviceWork } from '../query/device-work.js'
import { ROW_BYTES } from '../query/query-column.js'
import type { Table } from '../query/table.js'
import { fittingPlans, type GroupedRows, type GroupPlan, statePlan } from './group-plan.js'
import { aggregateResults, type PlanStates } from './group-results.js'
import { type FoundGroups, stretchesOf } from './slot-groups.js'

/** Rows of a tile; as in `reduce-groups.wesl`. */
const TILE = { cooperative: 4096, serial: 1024 }

/** Bytes that results may take before it is known how many there are, so that nobody waits for their number alone. */
const MOST_UNREAD_BYTES = 64 * 2 ** 20
/** Of an aggregate. */
const MOST_RESULT_WORDS = 2

/**
 * Aggregates all rows as one group.
 * @returns undefined where no kernel can bind what the rows are read from
 */
export async function reduceAll(
  work: DeviceWork,
  rows: GroupedRows,
  aggregates: readonly TypedAggregate[],
): Promise<FoundGroups | undefined> {
  const plans = fittingStates(work, rows, aggregates, 2, false)
  if (plans === undefined) return undefined
  const all = plans.map((plan): PlanStates => ({ plan, states: work.words(plan.states.words) }))
  const after = Promise.all(all.map((each) => reduceRows(work, rows.table, each)))
  const columns = await evaluateRows(work, { count: 1, after }, aggregateResults(all))
  return { count: 1, columns, rows: { values: all[0]!.states, count: 1 } }
}

/**
 * Aggregates the rows of groups in order (`reduce-groups.wesl`).
 * @returns undefined as `reduceAll`
 */
export async function reduceOrdered(
  work: DeviceWork,
  rows: GroupedRows,
  groups: RowGroups,
  aggregates: readonly TypedAggregate[],
): Promise<Pick<FoundGroups, 'count' | 'columns'> | undefined> {
  const plans = aggregates.length === 0 ? [] : fittingStates(work, rows, aggregates, 5, true)
  if (plans === undefined) return undefined
  const stateWords = plans.reduce((sum, { states }) => sum + states.words, 0)
  const words = stateWords + MOST_RESULT_WORDS * aggregates.length
  const read = async () => (await work.read([groups.total]))[0]!
  const isLarge = rows.table.rows * words * 4 > MOST_UNREAD_BYTES
  const known = groups.count ?? (isLarge ? await read() : undefined)
  const most = known ?? rows.table.rows
  const all = plans.map((plan): PlanStates => {
    return { plan, states: work.scratch.words(most * plan.states.words) }
  })
  const after = Promise.all(all.map((each) => reduceTiles(work, rows.table, groups, each, most)))
  const columns = await evaluateRows(work, { count: most, live: groups.total, after }, aggregateResults(all))
  const count = known ?? (await read())
  work.moves({ read: count * stateWords * 4, written: count * words * 4 })
  return { count, columns }
}

/** @param others buffers of states that the kernels bind beside the rows' */
function fittingStates(
  work: DeviceWork,
  rows: GroupedRows,
  aggregates: readonly TypedAggregate[],
  others: number,
  hasKeys: boolean,
): GroupPlan[] | undefined {
  const { maxComputeWorkgroupStorageSize } = work.device.gpu.limits
  // A state for each invocation, and a word.
  const mostWords = Math.floor(maxComputeWorkgroupStorageSize / 4 / GROUP_SIZE) - 1
  const make = (part: readonly TypedAggregate[]) => statePlan(rows, part, hasKeys)
  return fittingPlans(work, aggregates, others, make, ({ words }) => words <= mostWords)
}

async function reduceRows(work: DeviceWork, { rows }: Table, { plan, states }: PlanStates): Promise<void> {
  const [reduce, combine] = await kernelsOf(work, plan, ['reduce_all', 'combine_all'])
  const { stretch, groups: parts, weight } = stretchesOf(work, rows, plan.code)
  const edges = work.words(parts * plan.states.words)
  const buffers = { ...plan.code.buffers(work, rows), edges, states }
  const params = { count: rows, stretch, tiles: parts }
  work.recorder.dispatchGroups(reduce!, buffers, params, parts, { weight })
  work.recorder.dispatchGroups(combine!, buffers, params, 1)
}

async function reduceTiles(
  work: DeviceWork,
  { rows }: Table,
  { order, starts, total }: RowGroups,
  { plan, states }: PlanStates,
  most: number,
): Promise<void> {
  const { strategy } = work.kernels.primitives
  const suffix = strategy === 'serial' ? '_serial' : ''
  const [reduce, finish] = await kernelsOf(work, plan, [`reduce_tiles${suffix}`, `finish_tiles${suffix}`])
  const tiles = Math.ceil(rows / (strategy === 'serial' ? TILE.serial : TILE.cooperative))
  const edges = work.words(2 * tiles * plan.states.words)
  const own = { states, edges, order: order ?? work.absent, starts, live: total.buffer }
  const buffers = { ...plan.code.buffers(work, rows), ...own }
  if (order !== undefined) work.moves({ read: rows * ROW_BYTES })
  const isOrdered = order === undefined ? 1 : 0
  const params = { count: rows, groups: most, liveIndex: total.index, tiles, isOrdered }
  const groups = groupsFor(strategy, tiles)
  work.recorder.dispatchGroups(reduce!, buffers, params, groups, { weight: plan.code.weight })
  work.recorder.dispatchGroups(finish!, buffers, params, groups)
}

function kernelsOf(work: DeviceWork, { text }: GroupPlan, entryPoints: readonly string[]): Promise<Kernel[]> {
  const generated = { module: 'relational/group/plan', text }
  const description = { module: 'relational/group/reduce-groups', generated }
  return Promise.all(entryPoints.map((name) => work.kernels.generated.get(description, name)))
}
