import type { Device, Kernels } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { DeviceWork } from '../query/device-work.js'
import type { RowNumbers } from '../query/fetch.js'
import { ROW_BYTES } from '../query/query-column.js'
import type { Table } from '../query/table.js'
import { learnFacts } from './column-facts.js'
import { type PackedKey, packKeys } from './packed-keys.js'
import { type RowOrder, sortKeys } from './row-order.js'
import { ascending, neighbourOrder, type RowsOrder, tellingColumns } from './sortedness.js'

/** Rows in an order in which equal ones are neighbours. */
export interface RowGroups {
  /** Numbers of rows; undefined where they are as they lie. */
  readonly order: DeviceMemory | undefined
  /** The place in the order where each group starts. */
  readonly starts: DeviceMemory
  /** How many there are, where that is known without asking the device. */
  readonly count: number | undefined
  readonly total: DeviceWord
  /** For each place of the order whether a group starts there. */
  readonly flags: DeviceMemory
  /** The order that the first rows of groups are in. */
  readonly firstsBy: RowsOrder
}

/** Finds groups of equal rows (`row-groups.wesl`). */
export class GroupStarts {
  readonly #kernels: Kernels<'mark_group_starts' | 'place_rows'>

  constructor(device: Device) {
    this.#kernels = device.kernels('relational/order/row-groups', ['mark_group_starts', 'place_rows'])
  }

  /**
   * Groups rows of a table that are equal in all columns; nulls are equal. Within a group rows stay in their order. Rows that are known to be in an order
   * are not sorted, and how many groups there are is not waited for.
   */
  async find(work: DeviceWork, table: Table): Promise<RowGroups> {
    const { rows } = table
    const known = await learntOrder(work, table)
    const by = tellingColumns(work, table).map(ascending)
    const firstsBy = { by: known?.by ?? by, unique: true }
    const { primitives } = work.kernels
    const recorded = { flags: work.words(rows), starts: work.words(rows), firstsBy }
    const { flags, starts } = recorded
    if (known?.unique || rows === 0) {
      primitives.fill(work.recorder, flags, rows, 1)
      primitives.iota(work.recorder, starts, rows)
      return { ...recorded, order: undefined, count: rows, total: primitives.unbounded }
    }
    const keys = await packKeys(work, table, by)
    const sorted = known === undefined ? sortKeys(work, keys, rows) : undefined
    this.#mark(work, keys, sorted, rows, flags)
    const total = { buffer: work.words(1), index: 0 }
    primitives.compact(work.recorder, work.scratch, flags, rows, starts, total)
    work.moves({ read: rows * ROW_BYTES })
    return { ...recorded, order: sorted?.order, count: undefined, total }
  }

  /** For each row the number of its group, or its rank: how many of its group come before it. */
  place(
    work: DeviceWork,
    { order, flags, starts }: RowGroups,
    rows: number,
    wanted: 'group' | 'rank',
  ): DeviceMemory {
    if (rows === 0) return work.words(0)
    const before = work.words(rows)
    work.kernels.primitives.scan(work.recorder, work.scratch, flags, before, rows)
    const output = work.words(rows)
    const buffers = { order: order ?? work.absent, marked: flags, before, starts, output }
    const params = { count: rows, ordered: order === undefined ? 0 : 1, ranked: wanted === 'rank' ? 1 : 0 }
    work.recorder.dispatch(this.#kernels.place_rows, buffers, params, rows)
    work.moves({ read: rows * ROW_BYTES * (order === undefined ? 3 : 4) })
    return output
  }

  #mark(
    work: DeviceWork,
    packed: readonly PackedKey[],
    sorted: RowOrder | undefined,
    rows: number,
    flags: DeviceMemory,
  ): void {
    if (packed.length === 0) {
      // All rows are equal: only the first begins a group.
      work.recorder.clear(flags, 0, rows * 4)
      work.kernels.primitives.fill(work.recorder, flags, 1, 1)
    }
    packed.forEach(({ keys, keyWords }, i) => {
      const inOrder = sorted !== undefined && i === packed.length - 1 ? sorted.sorted : undefined
      const order = inOrder === undefined ? sorted?.order : undefined
      const buffers = { keys: inOrder ?? keys, order: order ?? work.absent, flags }
      const params = { count: rows, words: keyWords, ordered: order === undefined ? 0 : 1, further: i }
      work.recorder.dispatch(this.#kernels.mark_group_starts, buffers, params, rows)
      work.moves({ read: rows * (4 * keyWords + (order === undefined ? 0 : ROW_BYTES)) })
    })
  }
}

/** The order that equal rows lie side by side in, if they do; asks the device only where nothing is known. */
export async function learntOrder(work: DeviceWork, table: Table): Promise<RowsOrder | undefined> {
  const known = neighbourOrder(work, table)
  if (known !== undefined) return known
  await learnFacts(work, [table])
  return neighbourOrder(work, table)
}

/** Of each of so many groups the first row, in the groups' order. */
export function firstRows(work: DeviceWork, { order, starts }: RowGroups, count: number): RowNumbers {
  const firsts = { buffer: starts, outer: false, ascending: true }
  if (order === undefined) return firsts
  return work.kernels.fetch.compose(work, { buffer: order, outer: false }, firsts, count)
}
