import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { DeviceWork } from './device-work.js'
import { type QueryColumn, valueWords } from './query-column.js'

/** As in `fetch.wesl`. */
const HAS_VALIDITY = 1

/** Numbers of rows. */
export interface RowNumbers {
  readonly buffer: GPUBuffer
  /** Whether some may be `NO_ROW`, a row of nulls. */
  readonly outer: boolean
  /** Whether each is greater than the one before, so that rows stay in their order and none is there twice. */
  readonly ascending?: boolean
}

/** Columns at given rows (`fetch.wesl`): what late materialisation ends with. */
export class Fetch {
  readonly #fetchValues: Kernel
  readonly #composeRows: Kernel

  private constructor(fetchValues: Kernel, composeRows: Kernel) {
    this.#fetchValues = fetchValues
    this.#composeRows = composeRows
  }

  static async create(device: Device): Promise<Fetch> {
    const common = { module: 'relational/query/fetch', params: 3 }
    const [fetchValues, composeRows] = await Promise.all([
      device.kernel({
        ...common,
        entryPoint: 'fetch_values',
        bindings: ['read', 'read', 'read', 'write', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'compose_rows',
        bindings: ['read'],
        further: [
          [2, 'read'],
          [3, 'write'],
        ],
      }),
    ])
    return new Fetch(fetchValues, composeRows)
  }

  /** The values of a column at rows. */
  values(work: DeviceWork, column: QueryColumn, rows: RowNumbers, count: number): QueryColumn {
    const words = valueWords(column.type)
    const values = work.words(count * words)
    if (column.validity === undefined && !rows.outer) {
      work.kernels.primitives.gather(work.recorder, column.values, rows.buffer, values, count, words)
      return { ...column, values }
    }
    const validity = work.ones(count)
    const flags = column.validity === undefined ? 0 : HAS_VALIDITY
    const buffers = [column.values, column.validity ?? work.absent, rows.buffer, values, validity]
    work.recorder.dispatch(this.#fetchValues, buffers, [count, words, flags], count)
    return { ...column, values, validity }
  }

  /** Row numbers `first` at the places that `second` says: for each of its places the row that it stands for. */
  compose(work: DeviceWork, first: RowNumbers, second: RowNumbers, count: number): RowNumbers {
    const buffer = work.words(count)
    work.recorder.dispatch(this.#composeRows, [first.buffer, second.buffer, buffer], [count, 1, 0], count)
    const ascending = first.ascending === true && second.ascending === true
    return { buffer, outer: first.outer || second.outer, ascending }
  }
}
