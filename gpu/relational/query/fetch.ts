import type { Device, Kernels } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWork } from './device-work.js'
import { bytesOf, type QueryColumn, ROW_BYTES, valueWords } from './query-column.js'

/** Numbers of rows. */
export interface RowNumbers {
  readonly buffer: DeviceMemory
  /** Whether some may be `NO_ROW`, a row of nulls. */
  readonly outer: boolean
  /** Whether each is greater than the one before, so that rows stay in their order and none is there twice. */
  readonly ascending?: boolean
  /** Whether these are all live rows of a relation, and its columns those that they number. */
  readonly areAllLive?: boolean
}

/** Columns at given rows (`fetch.wesl`): what late materialisation ends with. */
export class Fetch {
  readonly #kernels: Kernels<'fetch_values' | 'compose_rows'>

  constructor(device: Device) {
    this.#kernels = device.kernels('relational/query/fetch', ['fetch_values', 'compose_rows'])
  }

  /** The values of a column at rows. */
  values(work: DeviceWork, column: QueryColumn, rows: RowNumbers, count: number): QueryColumn {
    const words = valueWords(column.type)
    const values = work.words(count * words)
    work.moves({ read: count * (ROW_BYTES + bytesOf(column)) })
    if (column.validity === undefined && !rows.outer) {
      work.kernels.primitives.gather(work.recorder, column.values, rows.buffer, values, count, words)
      return { ...column, values }
    }
    const validity = work.ones(count)
    const hasValidity = column.validity === undefined ? 0 : 1
    const buffers = {
      values: column.values,
      validity: column.validity ?? column.values,
      rows: rows.buffer,
      output: values,
      outputValidity: validity,
    }
    work.recorder.dispatch(this.#kernels.fetch_values, buffers, { count, words, hasValidity }, count)
    return { ...column, values, validity }
  }

  /** Row numbers `first` at the places that `second` says: for each of its places the row that it stands for. */
  compose(work: DeviceWork, first: RowNumbers, second: RowNumbers, count: number): RowNumbers {
    const buffer = work.words(count)
    const buffers = { numbers: first.buffer, rows: second.buffer, output: buffer }
    work.recorder.dispatch(this.#kernels.compose_rows, buffers, { count }, count)
    work.moves({ read: 2 * count * ROW_BYTES })
    const ascending = first.ascending === true && second.ascending === true
    return { buffer, outer: first.outer || second.outer, ascending }
  }
}
