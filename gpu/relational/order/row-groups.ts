import type { Device, Kernels } from '../../device/device.js'
import type { DeviceWork } from '../query/device-work.js'
import { selectFlagged } from '../query/expressions.js'
import { Op } from '../query/opcodes.js'
import { ProgramBuilder } from '../query/program.js'
import type { Table } from '../query/table.js'
import { orderRows, type RowOrder } from './row-order.js'

/** Rows in an order in which equal ones are neighbours. */
export interface RowGroups {
  readonly order: GPUBuffer
  /** The place in the order where each group starts. */
  readonly starts: GPUBuffer
  readonly count: number
  /** For each place of the order whether a group starts there. */
  readonly flags: GPUBuffer
}

/** Finds groups of equal rows (`row-groups.wesl`). */
export class GroupStarts {
  readonly #kernels: Kernels<'mark_group_starts'>

  constructor(device: Device) {
    this.#kernels = device.kernels('relational/order/row-groups', ['mark_group_starts'])
  }

  /** Groups rows of a table that are equal in all columns; nulls are equal. Within a group rows stay in their order. */
  async group(work: DeviceWork, table: Table): Promise<RowGroups> {
    const { rows } = table
    if (rows === 0) return { order: work.words(0), starts: work.words(0), count: 0, flags: work.words(0) }
    const by = table.columns.map((_, column) => ({ column, descending: false, nullsFirst: false }))
    const order = await orderRows(work, table, by)
    const flags = this.#mark(work, order, rows)
    const { numbers, count } = await selectFlagged(work, flags, rows)
    return { order: order.order, starts: numbers.buffer, count, flags }
  }

  /**
   * Numbers groups in their order.
   * @param output gets the number of each row's group
   */
  number(work: DeviceWork, { order, flags }: RowGroups, rows: number, output: GPUBuffer): void {
    const { primitives, evaluation } = work.kernels
    const before = work.words(rows)
    primitives.scan(work.recorder, work.scratch, flags, before, rows)
    const builder = new ProgramBuilder()
    for (const values of [before, flags]) {
      builder.load({ type: 'u32', values, validity: undefined, dictionary: undefined })
    }
    builder.binary(Op.addUnsigned)
    builder.constant(1n)
    builder.binary(Op.subtractFreely)
    const numbers = evaluation.record(work, builder.finish(), rows, { words: 1 })
    primitives.scatter(work.recorder, numbers, order, output, rows, 1)
  }

  #mark(work: DeviceWork, { order, keys }: RowOrder, rows: number): GPUBuffer {
    const flags = work.words(rows)
    if (keys.length === 0) {
      // All rows are equal: only the first begins a group.
      work.recorder.clear(flags, 0, rows * 4)
      work.kernels.primitives.fill(work.recorder, flags, 1, 1)
    }
    keys.forEach((key, i) => {
      const params = { count: rows, words: key.keyWords, further: i > 0 ? 1 : 0 }
      work.recorder.dispatch(this.#kernels.mark_group_starts, { keys: key.keys, order, flags }, params, rows)
    })
    return flags
  }
}
