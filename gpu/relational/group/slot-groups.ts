import type { TypedAggregate } from '../../../protocol/query/typed.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import { evaluateRows } from '../expressions/evaluate.js'
import type { RowCode } from '../expressions/row-code.js'
import { learnFacts } from '../order/column-facts.js'
import type { DeviceWork } from '../query/device-work.js'
import { plainColumn, type QueryColumn } from '../query/query-column.js'
import type { TableColumn } from '../query/table.js'
import { fittingPlans, type GroupedRows, type SlotKey, slotPlan, slotsOf } from './group-plan.js'
import { aggregateResults, keyResults, type PlanStates } from './group-results.js'

/** More slots than this are too many to count those before each. */
const MOST_SLOTS = 1024
/** Words of a workgroup's table; `slot-table.wesl` has the same number. */
const TABLE_WORDS = 4096
/** Copies of each word, if there is room: as many as neighbouring invocations go through a kernel together. */
const MOST_COPIES = 32
/**
 * Workgroups at most, which all add their tables to one, and rows that each has at least: a CPU's barriers take as long as many rows. With fewer workgroups each
 * would take long enough for others to wait for, and no slice takes less than one of them.
 */
const MOST_GROUPS = 4096
const LEAST_STRETCH = { hardware: 4096, software: 65_536 }

/** Groups that were found in one pass, their keys first. */
export interface FoundGroups {
  readonly count: number
  readonly columns: readonly QueryColumn[]
  readonly rows: RowCounts
}

/** How many rows were grouped: the sum of some words. */
export interface RowCounts {
  readonly values: DeviceMemory
  readonly count: number
}

/** Keys whose groups are so few that each can have a slot; undefined where they may be more. Waits for the device where too little is known of the keys. */
export async function slotKeys(
  work: DeviceWork,
  columns: readonly TableColumn[],
  rows: number,
): Promise<readonly SlotKey[] | undefined> {
  await learnFacts(work, [{ columns, rows }])
  const keys = columns.map((column): SlotKey => {
    const { source, rows } = column
    const { bits, common } = work.facts.of(column)
    const strings = common === 0n && source.dictionary ? source.dictionary.size : Number.POSITIVE_INFINITY
    const nullable = source.validity !== undefined || rows?.outer === true
    return { column, size: Math.min(2 ** bits, strings), common, nullable }
  })
  return slotsOf(keys) <= MOST_SLOTS ? keys : undefined
}

/**
 * Groups rows by keys of which there are few, in their order (`slot-groups.wesl`).
 * @returns undefined where a workgroup cannot accumulate the aggregates
 */
export async function groupBySlots(
  work: DeviceWork,
  rows: GroupedRows,
  keys: readonly SlotKey[],
  aggregates: readonly TypedAggregate[],
): Promise<FoundGroups | undefined> {
  const slots = slotsOf(keys)
  const plans = fittingPlans(
    work,
    aggregates,
    1,
    (part) => slotPlan(rows, part, keys),
    ({ isAtomic, words }) => isAtomic && words * slots <= TABLE_WORDS,
  )
  if (plans === undefined) return undefined
  const all = plans.map((plan): PlanStates => ({ plan, states: work.words(slots * plan.states.words) }))
  const added = Promise.all(all.map((each) => addToSlots(work, rows, each, slots)))
  const { counts, numbers, total } = filledSlots(work, all[0]!, slots, added)
  const slot = (code: RowCode) => code.column(numbers).value
  const builds = [...keyResults(keys, slot), ...aggregateResults(all, slot)]
  const [columns, values] = await Promise.all([
    evaluateRows(work, { count: slots, live: total, after: counts }, builds),
    counts,
  ])
  const [count] = await work.read([total])
  return { count: count!, columns, rows: { values, count: slots } }
}

/**
 * The rows of each slot, and the numbers of those slots that have some.
 * @param added settles when states are recorded
 */
function filledSlots(work: DeviceWork, { plan, states }: PlanStates, slots: number, added: Promise<unknown>) {
  const total = { buffer: work.words(1), index: 0 }
  const numbers = plainColumn('u32', work.words(slots))
  const ofSlot = (code: RowCode) =>
    code.computed('u32', `${code.bind(states, 'u32')}[row * ${plan.states.words}u]`)
  const counts = evaluateRows(work, { count: slots, after: added }, [ofSlot]).then(([counted]) => {
    work.kernels.primitives.compact(
      work.recorder,
      work.scratch,
      counted!.values,
      slots,
      numbers.values,
      total,
    )
    return counted!.values
  })
  return { counts, numbers, total }
}

async function addToSlots(
  work: DeviceWork,
  { table: { rows } }: GroupedRows,
  { plan, states }: PlanStates,
  slots: number,
): Promise<void> {
  const { text, code } = plan
  const { words } = plan.states
  const description = {
    module: 'relational/group/slot-groups',
    generated: { module: 'relational/group/plan', text },
  }
  const kernel = await work.kernels.generated.get(description, 'add_to_slots')
  work.recorder.clear(states, 0, slots * words * 4)
  const { stretch, groups, weight } = stretchesOf(work, rows, code)
  const copies = 2 ** Math.floor(Math.log2(Math.min(MOST_COPIES, TABLE_WORDS / (slots * words))))
  const buffers = { ...code.buffers(work, rows), states }
  const params = { count: rows, stretch, slots, words, copies }
  work.recorder.dispatchGroups(kernel, buffers, params, groups, { weight })
}

/** How rows are shared among a bounded number of workgroups: a stretch of neighbouring ones for each. */
export function stretchesOf({ device }: DeviceWork, rows: number, code: RowCode) {
  const least = device.facts.software ? LEAST_STRETCH.software : LEAST_STRETCH.hardware
  const stretch = Math.ceil(Math.max(least, rows / MOST_GROUPS) / GROUP_SIZE) * GROUP_SIZE
  return { stretch, groups: Math.ceil(rows / stretch), weight: (code.weight * stretch) / least }
}
