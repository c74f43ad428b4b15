import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { DeviceWork } from './device-work.js'
import { selectFlagged } from './expressions.js'
import { Op } from './opcodes.js'
import { ProgramBuilder } from './program.js'
import type { QueryColumn } from './query-column.js'
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

/** Finds groups of equal rows (`group-starts.wesl`). */
export class GroupStarts {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(device: Device): Promise<GroupStarts> {
    const kernel = await device.kernel({
      module: 'relational/query/group-starts',
      entryPoint: 'mark_group_starts',
      bindings: ['read', 'read', 'write'],
      params: 3,
    })
    return new GroupStarts(kernel)
  }

  /** Groups rows that are equal in all columns; nulls are equal. Within a group rows stay in their order. */
  async group(work: DeviceWork, columns: readonly QueryColumn[], rows: number): Promise<RowGroups> {
    if (rows === 0) return { order: work.words(0), starts: work.words(0), count: 0, flags: work.words(0) }
    const by = columns.map((column) => ({ column, descending: false, nullsFirst: false }))
    const order = await orderRows(work, by, rows)
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
      const params = [rows, key.keyWords, i > 0 ? 1 : 0]
      work.recorder.dispatch(this.#kernel, [key.keys, order, flags], params, rows)
    })
    return flags
  }
}
