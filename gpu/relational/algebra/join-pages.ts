import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Strategy } from '../../primitives/primitives.js'
import { groupsFor } from '../../primitives/strategy.js'
import type { ColumnShape, Columns } from '../columns.js'
import { columnBuffers, scratchColumns } from '../columns.js'
import { checkJoined, type JoinOptions, joinKernel, joinOrder, joinShape } from './join-kernels.js'
import { type JoinTiler, type JoinTiles, joinTiler } from './join-tiles.js'
import { PAGE_ROWS, PAGE_WORDS, type PageList, type PageLists, type Pools } from './page-list.js'
import { payloadsOf } from './pairs.js'
import { type Tuples, tupleBytes } from './tuples.js'

/** Pools at most: as many as a device has workgroups at a time, so that all of them are filled side by side. */
const MOST_POOLS = { cooperative: 1024, serial: 64 }

export interface PageOptions {
  /** Tuples of a page; `PAGE_ROWS` unless given. */
  readonly pageRows?: number
  /** Pages to begin with; as many as the larger relation would take, and one for each pool, unless given. */
  readonly pages?: number
}

/** A join whose pools may have to be run again. */
interface Work {
  readonly first: Tuples
  readonly second: Tuples
  readonly tiles: JoinTiles
  /** Tiles of a pool. */
  readonly share: number
  readonly pageRows: number
}

/** JOIN into a list of pages (`join-pages.wesl`): neither a count before nor a gather behind. */
export class JoinPages {
  readonly #device: Device
  readonly #lists: PageLists
  readonly #strategy: Strategy
  readonly #options: JoinOptions
  readonly #mostBytes: number
  readonly #tiler: JoinTiler
  readonly #kernel: Kernel

  private constructor(
    device: Device,
    lists: PageLists,
    strategy: Strategy,
    options: JoinOptions,
    mostBytes: number,
    tiler: JoinTiler,
    kernel: Kernel,
  ) {
    this.#device = device
    this.#lists = lists
    this.#strategy = strategy
    this.#options = options
    this.#mostBytes = mostBytes
    this.#tiler = tiler
    this.#kernel = kernel
  }

  /**
   * @param lists of the join's shape
   * @param mostBytes bytes of a result at most
   */
  static async create(
    device: Device,
    lists: PageLists,
    strategy: Strategy,
    options: JoinOptions,
    mostBytes: number,
  ): Promise<JoinPages> {
    const [tiler, kernel] = await Promise.all([
      joinTiler(device, strategy, options),
      joinKernel(device, strategy, options, 'join_into_pages'),
    ])
    return new JoinPages(device, lists, strategy, options, mostBytes, tiler, kernel)
  }

  /**
   * Joins, and learns in one round trip whether the pages were enough. If not, there are twice as many, and the pools that were
   * starved go on.
   * @throws WarpdexError `BAD_REQUEST` if a relation has another shape; `OUT_OF_DEVICE_MEMORY` if the pages would take more memory
   * than a result may
   */
  async run(scratch: Scratch, first: Tuples, second: Tuples, options: PageOptions = {}): Promise<PageList> {
    const recorder = this.#device.record()
    const {
      work,
      pools: begunPools,
      capacity: begun,
    } = this.#begin(recorder, scratch, first, second, options)
    let capacity = begun
    let pools = begunPools
    let columns = this.#columns(scratch, capacity, work.pageRows)
    let list = this.#recordPass(recorder, scratch, work, pools, columns, capacity)
    let used = await this.#readUsed(recorder, pools)
    while (used > capacity) {
      const retrying = this.#device.record()
      const larger = this.#columns(scratch, 2 * capacity, work.pageRows)
      const targets = columnBuffers(larger)
      for (const [i, buffer] of columnBuffers(columns).entries()) {
        const words = i === 0 ? this.#shape.keyWords : this.#shape.payloadWords
        retrying.copy(buffer, 0, targets[i]!, 0, capacity * work.pageRows * words * 4)
      }
      const table = scratch.words(2 * capacity * PAGE_WORDS)
      retrying.copy(pools.table, 0, table, 0, capacity * PAGE_WORDS * 4)
      this.#device.upload(pools.used, new Uint8Array(Uint32Array.of(capacity).buffer))
      pools = { ...pools, table }
      columns = larger
      capacity *= 2
      list = this.#recordPass(retrying, scratch, work, pools, columns, capacity)
      used = await this.#readUsed(retrying, pools)
    }
    return list
  }

  /** Records a join that is known to need no more pages than there are to begin with; what goes beyond them is lost. */
  record(
    recorder: Recorder,
    scratch: Scratch,
    first: Tuples,
    second: Tuples,
    options: PageOptions = {},
  ): PageList {
    const { work, pools, capacity } = this.#begin(recorder, scratch, first, second, options)
    const columns = this.#columns(scratch, capacity, work.pageRows)
    return this.#recordPass(recorder, scratch, work, pools, columns, capacity)
  }

  get #shape(): ColumnShape {
    return joinShape(this.#options.first, this.#options.second)
  }

  #begin(
    recorder: Recorder,
    scratch: Scratch,
    first: Tuples,
    second: Tuples,
    { pageRows = PAGE_ROWS, pages }: PageOptions,
  ): { work: Work; pools: Pools; capacity: number } {
    checkJoined(this.#options, first, second)
    const tiles = this.#tiler.record(recorder, scratch, first, second)
    const most = this.#strategy === 'serial' ? MOST_POOLS.serial : MOST_POOLS.cooperative
    const share = Math.max(1, Math.ceil(tiles.tiles / most))
    const number = Math.max(1, Math.ceil(tiles.tiles / share))
    const capacity = pages ?? number + Math.ceil(Math.max(first.rows, second.rows) / pageRows)
    const pools = this.#lists.recordPools(recorder, scratch, number, share, pageRows, capacity)
    return { work: { first, second, tiles, share, pageRows }, pools, capacity }
  }

  #columns(scratch: Scratch, capacity: number, pageRows: number): Columns {
    const rows = capacity * pageRows
    const bytes = rows * tupleBytes(this.#shape)
    if (bytes <= this.#mostBytes) return scratchColumns(scratch, this.#shape, rows)
    throw new WarpdexError(
      'OUT_OF_DEVICE_MEMORY',
      `the join's pages would take ${bytes} bytes, and ${this.#mostBytes} are allowed`,
    )
  }

  /** All pools, of which those that are done have nothing to do, and the list that they make. */
  #recordPass(
    recorder: Recorder,
    scratch: Scratch,
    { first, second, tiles, share, pageRows }: Work,
    pools: Pools,
    columns: Columns,
    capacity: number,
  ): PageList {
    recorder.dispatchGroups(
      this.#kernel,
      [
        first.columns.keys,
        second.columns.keys,
        ...payloadsOf(first, second),
        ...tiles.buffers,
        pools.pools,
        pools.table,
        ...columnBuffers(columns),
        pools.used,
      ],
      [tiles.tiles, pools.number, share, pageRows, capacity],
      groupsFor(this.#strategy, pools.number),
    )
    const order = joinOrder(first, second)
    return this.#lists.recordLinks(recorder, scratch, pools, columns, order, pageRows, capacity)
  }

  async #readUsed(recorder: Recorder, { used }: Pools): Promise<number> {
    const [bytes] = await this.#device.submitAndRead(recorder, [{ buffer: used, bytes: 4 }])
    return new DataView(bytes!.buffer, bytes!.byteOffset, 4).getUint32(0, true)
  }
}
