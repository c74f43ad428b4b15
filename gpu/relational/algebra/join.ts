import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives, Strategy } from '../../primitives/primitives.js'
import { groupsFor } from '../../primitives/strategy.js'
import type { ColumnShape } from '../columns.js'
import { columnBuffers } from '../columns.js'
import {
  checkJoined,
  isSearched,
  type JoinOptions,
  joinKernel,
  joinOrder,
  joinShape,
} from './join-kernels.js'
import { type JoinTiler, type JoinTiles, joinTiler } from './join-tiles.js'
import { payloadsOf } from './pairs.js'
import { SEARCHED_TILE } from './search-cut.js'
import { recordTileSums } from './tile-sums.js'
import { scratchTuples, type Tuples, tupleBytes } from './tuples.js'

/** Results of a tile that one workgroup writes where some tile has more; and workgroups for one tile at most. */
const PART_ROWS = 16_384
const MOST_PARTS = 64

/** A tile that has as many results may have more. */
const MOST_COUNTED = 0xffff_ffff

/** What is known of a join before its results are written. */
export interface CountedJoin {
  readonly first: Tuples
  readonly second: Tuples
  readonly tiles: JoinTiles
  /** Results of each tile: a word a tile, and then what else sums are known by. */
  readonly counts: GPUBuffer
  /** With `serial`: results before each tile. */
  readonly bases: readonly GPUBuffer[]
  /** The tuples that have matches, and how many they are of each tile, if they are listed (`join-list.wesl`). */
  readonly list: readonly GPUBuffer[]
}

/** Results from number `start` on. */
export interface JoinWindow {
  readonly start: number
  readonly rows: number
  /** Workgroups that share a tile. */
  readonly parts: number
}

/** JOIN of tuples of two shapes (`join.wesl`): cut, count, scan, write. */
export class Join {
  readonly #device: Device
  readonly #primitives: Primitives
  readonly #strategy: Strategy
  readonly #options: JoinOptions
  readonly #mostBytes: number
  readonly #tiler: JoinTiler
  readonly #kernels: Readonly<Record<'count' | 'total' | 'write', Kernel>>

  private constructor(
    device: Device,
    primitives: Primitives,
    strategy: Strategy,
    options: JoinOptions,
    mostBytes: number,
    tiler: JoinTiler,
    kernels: Readonly<Record<'count' | 'total' | 'write', Kernel>>,
  ) {
    this.#device = device
    this.#primitives = primitives
    this.#strategy = strategy
    this.#options = options
    this.#mostBytes = mostBytes
    this.#tiler = tiler
    this.#kernels = kernels
  }

  /** @param mostBytes bytes of a result at most */
  static async create(
    device: Device,
    primitives: Primitives,
    strategy: Strategy,
    options: JoinOptions,
    mostBytes: number,
  ): Promise<Join> {
    const [tiler, count, write, total] = await Promise.all([
      joinTiler(device, strategy, options),
      joinKernel(device, strategy, options, 'count_matches'),
      joinKernel(device, strategy, options, 'write_matches'),
      device.kernel({
        module: 'relational/algebra/join-total',
        entryPoint: 'add_up',
        params: 1,
        bindings: ['read', 'write'],
      }),
    ])
    const kernels = { count, write, total }
    return new Join(device, primitives, strategy, options, mostBytes, tiler, kernels)
  }

  /** Tuples of the largest result. */
  get mostRows(): number {
    return Math.floor(this.#mostBytes / tupleBytes(this.#shape))
  }

  /**
   * Counts the results, in one round trip, and writes them to scratch memory.
   * @throws WarpdexError `BAD_REQUEST` if a relation has another shape; `OUT_OF_DEVICE_MEMORY` if the result is larger than it may
   * be, in which case it can be had in passes
   */
  async run(scratch: Scratch, first: Tuples, second: Tuples): Promise<Tuples> {
    const recorder = this.#device.record()
    const counted = this.recordCount(recorder, scratch, first, second)
    const { rows, mostOfTile } = await this.#readTotals(recorder, scratch, counted)
    if (rows > this.mostRows) {
      throw new WarpdexError(
        'OUT_OF_DEVICE_MEMORY',
        `the join has ${rows} tuples, and ${this.mostRows} are allowed; it can be made in passes`,
      )
    }
    const writing = this.#device.record()
    const result = this.recordWrite(writing, scratch, counted, { start: 0, rows, parts: partsOf(mostOfTile) })
    writing.submit()
    return result
  }

  /**
   * The join in passes of `most` tuples each, in order. Each is in scratch memory that lasts until the next one is asked for.
   * @throws WarpdexError `BAD_REQUEST` as `run`; `OUT_OF_DEVICE_MEMORY` if there are more than 2^32 - 1 tuples, or as many of one tile
   */
  async *passes(first: Tuples, second: Tuples, most: number = this.mostRows): AsyncGenerator<Tuples> {
    const scratch = this.#device.scratch()
    try {
      const recorder = this.#device.record()
      const counted = this.recordCount(recorder, scratch, first, second)
      const { rows, mostOfTile } = await this.#readTotals(recorder, scratch, counted)
      // A tile may have more than is counted of it.
      const atLeast = mostOfTile === MOST_COUNTED ? 'at least ' : ''
      if (rows > MOST_COUNTED || mostOfTile === MOST_COUNTED) {
        throw new WarpdexError(
          'OUT_OF_DEVICE_MEMORY',
          `the join has ${atLeast}${rows} tuples; fewer than 2^32 - 1 can be numbered`,
        )
      }
      const parts = partsOf(mostOfTile)
      for (let start = 0; start < rows; start += most) {
        const pass = this.#device.scratch()
        try {
          const writing = this.#device.record()
          const window = { start, rows: Math.min(most, rows - start), parts }
          const result = this.recordWrite(writing, pass, counted, window)
          writing.submit()
          yield result
        } finally {
          pass.release()
        }
      }
    } finally {
      scratch.release()
    }
  }

  /**
   * Records all but the writing of the results.
   * @throws WarpdexError `BAD_REQUEST` if a relation has another shape
   */
  recordCount(recorder: Recorder, scratch: Scratch, first: Tuples, second: Tuples): CountedJoin {
    checkJoined(this.#options, first, second)
    const parted = this.#tiler.record(recorder, scratch, first, second)
    const { tiles } = parted
    const serial = this.#strategy === 'serial'
    const { buffer: counts } = serial
      ? { buffer: scratch.words(tiles) }
      : recordTileSums(recorder, scratch, this.#primitives, this.#strategy, tiles)
    const isListed = isSearched(this.#strategy, this.#options)
    const list = isListed ? [scratch.words(tiles * SEARCHED_TILE), scratch.words(tiles)] : []
    const keys = [first.columns.keys, second.columns.keys]
    recorder.dispatchGroups(
      this.#kernels.count,
      [...keys, ...parted.buffers, counts, ...list],
      [tiles, 0, 0, 1],
      groupsFor(this.#strategy, tiles),
    )
    const bases = serial ? [scratch.words(tiles)] : []
    for (const buffer of bases) this.#primitives.scan(recorder, scratch, counts, buffer, tiles)
    return { first, second, tiles: parted, counts, bases, list }
  }

  /** Records the writing of a window of the results, all of which must exist. */
  recordWrite(recorder: Recorder, scratch: Scratch, counted: CountedJoin, window: JoinWindow): Tuples {
    const { first, second, tiles, counts, bases, list } = counted
    const { start, rows, parts } = window
    const serial = this.#strategy === 'serial'
    const result = scratchTuples(scratch, this.#shape, rows, joinOrder(first, second))
    recorder.dispatchGroups(
      this.#kernels.write,
      [
        first.columns.keys,
        second.columns.keys,
        ...payloadsOf(first, second),
        ...tiles.buffers,
        ...(serial ? [counts, ...bases] : []),
        ...columnBuffers(result.columns),
        ...(serial ? [] : [counts]),
        ...list,
      ],
      [tiles.tiles, start, rows, parts],
      rows === 0 ? 0 : groupsFor(this.#strategy, tiles.tiles * parts),
    )
    return result
  }

  get #shape(): ColumnShape {
    return joinShape(this.#options.first, this.#options.second)
  }

  /** Submits what was recorded, and reads the number of results and the most of a tile. */
  async #readTotals(
    recorder: Recorder,
    scratch: Scratch,
    { tiles, counts }: CountedJoin,
  ): Promise<{ rows: number; mostOfTile: number }> {
    const totals = scratch.words(3)
    recorder.dispatchGroups(this.#kernels.total, [counts, totals], [tiles.tiles], 1)
    const [bytes] = await this.#device.submitAndRead(recorder, [{ buffer: totals, bytes: 12 }])
    const view = new DataView(bytes!.buffer, bytes!.byteOffset, 12)
    const [low, high, mostOfTile] = [0, 4, 8].map((offset) => view.getUint32(offset, true)) as [
      number,
      number,
      number,
    ]
    return { rows: high * 2 ** 32 + low, mostOfTile }
  }
}

/** Workgroups that share a tile, given the most results that one has. */
function partsOf(mostOfTile: number): number {
  return Math.max(1, Math.min(MOST_PARTS, Math.ceil(mostOfTile / PART_ROWS)))
}
