import type { TypedAggregate } from '../../../protocol/query/typed.js'
import { GROUP_SIZE } from '../../device/recorder.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import { factsOf } from '../order/column-facts.js'
import type { DeviceWork } from '../query/device-work.js'
import type { QueryColumn } from '../query/query-column.js'
import type { TableColumn } from '../query/table.js'
import { fittingPlans } from './fitting-plans.js'
import { faultsOf, type GroupedRows, type GroupPlan, type SlotKey, slotPlan, slotsOf } from './group-plan.js'
import { aggregateResults, keyResults, writeResults } from './group-results.js'

/** More slots than this are too many to count those before each. */
const MOST_SLOTS = 1024
/** Words of a workgroup's table; `slot-table.wesl` has the same number. */
const TABLE_WORDS = 4096
/** Copies of each word, if there is room: as many as neighbouring invocations go through a kernel together. */
const MOST_COPIES = 32
/** Workgroups at most, which all add their tables to one, and rows that each has at least: a CPU's barriers take as long as many rows. */
const MOST_GROUPS = 1024
const LEAST_STRETCH = { hardware: 4096, software: 65_536 }

/** Buffers that the kernel binds beside what the rows are read from: states, faults. */
const OTHER_BUFFERS = 2

/** Groups that were found, their keys first. */
export interface FoundGroups {
  readonly count: number
  readonly columns: readonly QueryColumn[]
  /** How many rows are in them. */
  readonly rows: DeviceWord
}

/** Keys whose groups are so few that each can have a slot; undefined where they may be more. Waits for the device where too little is known of the keys. */
export async function slotKeys(
  work: DeviceWork,
  columns: readonly TableColumn[],
  rows: number,
): Promise<readonly SlotKey[] | undefined> {
  const facts = await factsOf(work, columns, rows)
  const keys = columns.map((column, i): SlotKey => {
    const { source, rows } = column
    const { bits, common } = facts[i]!
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
    OTHER_BUFFERS,
    (part) => slotPlan(rows, part, keys),
    ({ states }) => states.isAtomic && states.words * slots <= TABLE_WORDS,
  )
  if (plans === undefined) return undefined
  const totals = work.words(2)
  const columns: QueryColumn[] = []
  for (const { plan, first } of plans) {
    const { words } = plan.states
    const states = await addToSlots(work, rows, plan, slots)
    const results = [...(first === 0 ? keyResults(keys) : []), ...aggregateResults(plan.states, first)]
    const live = { buffer: totals, index: 0 }
    const groups = { states, words, count: slots, live, entryPoint: 'finish_slots' } as const
    columns.push(...(await writeResults(work, groups, results)))
  }
  const [count] = await work.read([{ buffer: totals, index: 0 }])
  return { count: count!, columns, rows: { buffer: totals, index: 1 } }
}

async function addToSlots(
  work: DeviceWork,
  { table: { rows } }: GroupedRows,
  plan: GroupPlan,
  slots: number,
): Promise<GPUBuffer> {
  const {
    text,
    code,
    states: { words },
  } = plan
  const generated = { module: 'relational/group/plan', text }
  const kernel = await work.kernels.generated.get(
    { module: 'relational/group/slot-groups', generated },
    'add_to_slots',
  )
  const states = work.words(slots * words)
  work.recorder.clear(states, 0, slots * words * 4)
  const stretch = stretchOf(work, rows)
  const copies = 2 ** Math.floor(Math.log2(Math.min(MOST_COPIES, TABLE_WORDS / (slots * words))))
  const buffers = { ...code.buffers(work), states, faults: faultsOf(work, plan) }
  const params = { count: rows, stretch, slots, words, copies }
  work.recorder.dispatchGroups(kernel, buffers, params, Math.ceil(rows / stretch), {
    weight: code.weight,
  })
  return states
}

/** Rows for each of a bounded number of workgroups. */
export function stretchOf({ device }: DeviceWork, rows: number): number {
  const least = device.facts.software ? LEAST_STRETCH.software : LEAST_STRETCH.hardware
  return Math.ceil(Math.max(least, rows / MOST_GROUPS) / GROUP_SIZE) * GROUP_SIZE
}
