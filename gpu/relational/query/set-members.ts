import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { RowGroups } from '../order/row-groups.js'
import type { DeviceWork } from './device-work.js'

/** Numbers of the operations in the kernel. */
const OPERATIONS = { intersect: 0, except: 1, intersectAll: 2, exceptAll: 3 } as const

/** Chooses the rows of a set operator's result (`set-members.wesl`). */
export class SetMembers {
  readonly #kernel: Kernel

  private constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  static async create(device: Device): Promise<SetMembers> {
    const kernel = await device.kernel({
      module: 'relational/query/set-members',
      entryPoint: 'flag_members',
      bindings: ['read', 'read', 'write'],
      params: 4,
    })
    return new SetMembers(kernel)
  }

  /**
   * @param groups of the rows of both sides, those of the left side first
   * @param left how many these are
   * @returns a flag for each place of the groups' order
   */
  record(
    work: DeviceWork,
    { order, starts, count }: Pick<RowGroups, 'starts' | 'count'> & { readonly order: GPUBuffer },
    rows: number,
    left: number,
    operation: keyof typeof OPERATIONS,
  ): GPUBuffer {
    const flags = work.words(rows)
    const params = [rows, count, left, OPERATIONS[operation]]
    work.recorder.dispatch(this.#kernel, [order, starts, flags], params, rows)
    return flags
  }
}
