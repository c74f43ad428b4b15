import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { unboundedCount } from '../../primitives/device-count.js'
import type { DeviceWord, Primitives } from '../../primitives/primitives.js'
import type { ColumnShape, Columns } from '../columns.js'
import { columnBuffers, columnConditions, ifPayload, scratchColumns } from '../columns.js'
import { scratchTuples, type Tuples } from './tuples.js'

/** Words of a page's entry in the table, and columns of a word a pool; as in `page-list.wesl`. */
export const PAGE_WORDS = 4
const POOL_COLUMNS = 7

/** Tuples of a page: filling one takes a workgroup far longer than taking it. */
export const PAGE_ROWS = 4096

/**
 * A relation as a list of large pages (Diamos §4.3), which can grow while it is written: pages of several pools, each filled in order by
 * one workgroup, linked to one list.
 *
 * ```
 * columns   | page 0 | page 1 | …                  pageRows tuples each, of which the table says how many there are
 * table     | next page, tuples, pool, number in the pool | …            by page
 * order     | page | page | …                      pages in the order of the list
 * offsets   | tuples before each page, in that order
 * ```
 */
export interface PageList {
  readonly shape: ColumnShape
  readonly columns: Columns
  readonly order: Tuples['order']
  readonly pageRows: number
  /** Pages that there is room for. */
  readonly capacity: number
  /** Tuples at most. */
  readonly rows: number
  readonly table: GPUBuffer
  readonly pageOrder: GPUBuffer
  readonly offsets: GPUBuffer
  /** Pages in use, and tuples. */
  readonly pages: DeviceWord
  readonly count: DeviceWord
}

/** Pools of pages that are being filled; see `page-list.wesl`. */
export interface Pools {
  readonly number: number
  readonly pools: GPUBuffer
  readonly table: GPUBuffer
  /** Pages that were taken; more than there are if that was not enough. */
  readonly used: GPUBuffer
}

/** Lists of pages of tuples of one shape (`pages.wesl`). */
export class PageLists {
  readonly #primitives: Primitives
  readonly #shape: ColumnShape
  readonly #kernels: Readonly<Record<'begin' | 'link' | 'order' | 'copy' | 'number', Kernel>>
  readonly #unbounded: DeviceWord

  private constructor(
    primitives: Primitives,
    shape: ColumnShape,
    kernels: Readonly<Record<'begin' | 'link' | 'order' | 'copy' | 'number', Kernel>>,
    unbounded: DeviceWord,
  ) {
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = kernels
    this.#unbounded = unbounded
  }

  static async create(device: Device, primitives: Primitives, shape: ColumnShape): Promise<PageLists> {
    const common = { module: 'relational/algebra/pages', params: 6 }
    const [begin, link, order, copy, number, unbounded] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'begin_pools', bindings: ['write'] }),
      device.kernel({ ...common, entryPoint: 'link_pools', bindings: ['write', 'write'] }),
      device.kernel({
        ...common,
        entryPoint: 'order_pages',
        bindings: ['read', 'read', 'read', 'write', 'write'],
      }),
      device.kernel({
        ...common,
        entryPoint: 'copy_pages',
        conditions: columnConditions(shape),
        bindings: ['read', 'read', 'read', 'read', 'read'],
        further: [...ifPayload(shape, [5, 'read']), [6, 'write'], ...ifPayload(shape, [7, 'write'])],
      }),
      device.kernel({
        ...common,
        entryPoint: 'number_pages',
        firstBinding: 1,
        bindings: ['write', 'read', 'write', 'write'],
      }),
      unboundedCount(device),
    ])
    return new PageLists(primitives, shape, { begin, link, order, copy, number }, unbounded)
  }

  /** Empty pools, the i-th of which begins with tile number i * share. */
  recordPools(
    recorder: Recorder,
    scratch: Scratch,
    number: number,
    share: number,
    pageRows: number,
    capacity: number,
  ): Pools {
    const pools = scratch.words(POOL_COLUMNS * number)
    const table = scratch.words(PAGE_WORDS * capacity)
    const used = scratch.words(1)
    recorder.clear(used, 0, 4)
    recorder.dispatch(this.#kernels.begin, [pools], [number, share, pageRows], number)
    return { number, pools, table, used }
  }

  /** The list of what pools have. */
  recordLinks(
    recorder: Recorder,
    scratch: Scratch,
    { number, pools, table, used }: Pools,
    columns: Columns,
    order: Tuples['order'],
    pageRows: number,
    capacity: number,
  ): PageList {
    const bases = scratch.words(number)
    const pageOrder = scratch.words(capacity)
    const offsets = scratch.words(capacity)
    const count = { buffer: scratch.words(1), index: 0 }
    const pages = { buffer: used, index: 0 }
    const params = [number, 0, pageRows, capacity]
    recorder.dispatch(this.#kernels.link, [pools, table], params, number)
    // The pools' first column is their numbers of pages.
    this.#primitives.scan(recorder, scratch, pools, bases, number)
    recorder.dispatch(this.#kernels.order, [bases, table, used, pageOrder, offsets], params, capacity)
    this.#primitives.scan(recorder, scratch, offsets, offsets, capacity, count, pages)
    const rows = capacity * pageRows
    return {
      shape: this.#shape,
      columns,
      order,
      pageRows,
      capacity,
      rows,
      table,
      pageOrder,
      offsets,
      pages,
      count,
    }
  }

  /** Dense tuples of a list, in scratch memory. */
  recordToDense(recorder: Recorder, scratch: Scratch, list: PageList): Tuples {
    const { pageRows, capacity, rows, order, offsets, table, pageOrder, pages, columns, count } = list
    const result = scratchTuples(scratch, this.#shape, rows, order, count)
    recorder.dispatchGroups(
      this.#kernels.copy,
      [offsets, table, pages.buffer, pageOrder, ...columnBuffers(columns), ...columnBuffers(result.columns)],
      [0, 0, pageRows, capacity, pages.index],
      capacity,
    )
    return result
  }

  /** A list of dense tuples, whose pages are a copy of them in scratch memory. */
  recordFromDense(
    recorder: Recorder,
    scratch: Scratch,
    tuples: Tuples,
    pageRows: number = PAGE_ROWS,
  ): PageList {
    const { shape, columns, rows, order, count: live = this.#unbounded } = tuples
    const capacity = Math.max(1, Math.ceil(rows / pageRows))
    const copy = scratchColumns(scratch, shape, capacity * pageRows)
    const targets = columnBuffers(copy)
    for (const [i, buffer] of columnBuffers(columns).entries()) {
      recorder.copy(buffer, 0, targets[i]!, 0, rows * 4 * (i === 0 ? shape.keyWords : shape.payloadWords))
    }
    const [table, pageOrder, offsets] = [
      scratch.words(PAGE_WORDS * capacity),
      scratch.words(capacity),
      scratch.words(capacity),
    ]
    const words = scratch.words(2)
    recorder.dispatch(
      this.#kernels.number,
      [table, live.buffer, pageOrder, offsets],
      [1, 0, pageRows, capacity, live.index, rows],
      capacity,
    )
    const [count, pages] = [
      { buffer: words, index: 0 },
      { buffer: scratch.words(1), index: 0 },
    ]
    this.#primitives.scan(recorder, scratch, offsets, offsets, capacity, count)
    this.#primitives.fill(recorder, pages.buffer, 1, capacity)
    return { shape, columns: copy, order, pageRows, capacity, rows, table, pageOrder, offsets, pages, count }
  }
}
