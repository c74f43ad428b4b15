import type { Device } from '../device/device.js'
import type { Kernel, NumberedBinding } from '../device/kernel.js'
import type { Recorder } from '../device/recorder.js'
import type { Scratch } from '../memory/scratch.js'
import {
  type ColumnShape,
  type Columns,
  columnBuffers,
  columnConditions,
  ifPayload,
  scratchColumns,
} from './columns.js'
import type { AffineMap } from './map.js'
import type { PrefixScan } from './prefix-scan.js'
import { groupsFor, type Strategy } from './strategy.js'

/** Elements of a tile; serial ones are longer where there are many parts, so that histograms stay shorter than the columns. */
const TILE = { cooperative: 4096, serial: 1024 }
const SERIAL_ELEMENTS_PER_PART = 4

/** Bits of the part numbers that one pass can split by: 2048 parts, as in `split.wesl`. */
const MOST_PASS_BITS = 11

export interface SplitShape extends ColumnShape {
  /** The payload of an element is its position before the split; `payloadWords` is 1 then, and no payloads are given. */
  readonly positions?: boolean
}

/** Columns in the order of their parts. */
export interface SplitColumns extends Columns {
  /** Fan-out + 1 words: where each part starts, and the number of elements. */
  readonly starts: GPUBuffer
}

interface Kernels {
  readonly countParts: Kernel
  readonly scatterTiles: Kernel
  /** The pass of several that moves the part numbers too. */
  readonly carryTiles: Kernel
  readonly findStarts: Kernel
  /** Only where a workgroup shares a tile. */
  readonly splitTile: Kernel | undefined
}

/** The pass by some bits of the part numbers. */
interface Pass {
  readonly count: number
  readonly fanOut: number
  readonly shift: number
  readonly bits: number
}

/**
 * Split for columns of one shape (`split.wesl`): a count, a scan and a scatter for every 11 bits of the part numbers; one
 * dispatch where a workgroup can split the whole.
 */
export class Split {
  readonly #strategy: Strategy
  readonly #shape: SplitShape
  readonly #scan: PrefixScan
  readonly #map: AffineMap
  readonly #kernels: Kernels

  private constructor(
    strategy: Strategy,
    shape: SplitShape,
    scan: PrefixScan,
    map: AffineMap,
    kernels: Kernels,
  ) {
    this.#strategy = strategy
    this.#shape = shape
    this.#scan = scan
    this.#map = map
    this.#kernels = kernels
  }

  static async create(
    device: Device,
    strategy: Strategy,
    shape: SplitShape,
    scan: PrefixScan,
    map: AffineMap,
  ): Promise<Split> {
    return new Split(strategy, shape, scan, map, await createKernels(device, strategy, shape))
  }

  /**
   * Moves the elements of part 0 to the front, behind them those of part 1, and so on; those of one part stay in order.
   * @param input left as it is; without payloads if they are positions
   * @param parts the part number of each element, below `fanOut`
   * @returns scratch buffers with the split columns and the start of every part
   */
  record(
    recorder: Recorder,
    scratch: Scratch,
    input: Columns,
    parts: GPUBuffer,
    count: number,
    fanOut: number,
  ): SplitColumns {
    const bits = Math.ceil(Math.log2(fanOut))
    const starts = scratch.words(fanOut + 1)
    if (bits > MOST_PASS_BITS) return this.#inPasses(recorder, scratch, input, parts, count, fanOut, starts)
    const pass = { count, fanOut, shift: 0, bits }
    const output = scratchColumns(scratch, this.#shape, count)
    const { splitTile, scatterTiles } = this.#kernels
    const columns = [parts, ...columnBuffers(input), ...columnBuffers(output)]
    if (splitTile !== undefined && count <= TILE.cooperative) {
      recorder.dispatchGroups(splitTile, [...columns, starts], params(pass, 1, 0), 1)
    } else {
      this.#scatter(recorder, scratch, pass, parts, scatterTiles, columns, starts)
    }
    return { ...output, starts }
  }

  #inPasses(
    recorder: Recorder,
    scratch: Scratch,
    input: Columns,
    parts: GPUBuffer,
    count: number,
    fanOut: number,
    starts: GPUBuffer,
  ): SplitColumns {
    const allocate = () => ({ ...scratchColumns(scratch, this.#shape, count), parts: scratch.words(count) })
    const bits = Math.ceil(Math.log2(fanOut))
    const passBits = Math.ceil(bits / Math.ceil(bits / MOST_PASS_BITS))
    let source = { ...input, parts }
    if (this.#shape.positions) {
      const payloads = scratch.words(count)
      this.#map.record(recorder, undefined, payloads, count, { multiplier: 1, addend: 0 })
      source = { ...source, payloads }
    }
    let output = allocate()
    let spare: typeof output | undefined
    for (let shift = 0; shift < bits; shift += passBits) {
      if (shift > 0) [output, spare] = [spare ?? allocate(), output]
      const pass = { count, fanOut, shift, bits: Math.min(passBits, bits - shift) }
      const columns = [source.parts, ...columnBuffers(source), ...columnBuffers(output)]
      this.#scatter(recorder, scratch, pass, source.parts, this.#kernels.carryTiles, columns, output.parts)
      source = output
    }
    const pass = { count, fanOut, shift: 0, bits }
    recorder.dispatch(this.#kernels.findStarts, [output.parts, starts], params(pass, 0, 0), fanOut + 1)
    return { keys: output.keys, payloads: output.payloads, starts }
  }

  #scatter(
    recorder: Recorder,
    scratch: Scratch,
    pass: Pass,
    parts: GPUBuffer,
    scatterTiles: Kernel,
    columns: readonly GPUBuffer[],
    last: GPUBuffer,
  ): void {
    const passParts = Math.min(pass.fanOut, 2 ** pass.bits)
    const tileSize =
      this.#strategy === 'serial'
        ? Math.max(TILE.serial, SERIAL_ELEMENTS_PER_PART * passParts)
        : TILE.cooperative
    const tiles = Math.max(1, Math.ceil(pass.count / tileSize))
    const groups = groupsFor(this.#strategy, tiles)
    const block = params(pass, tiles, tileSize)
    const places = scratch.words(passParts * tiles)
    recorder.dispatchGroups(this.#kernels.countParts, [parts, places], block, groups)
    this.#scan.record(recorder, scratch, places, places, passParts * tiles)
    recorder.dispatchGroups(scatterTiles, [...columns, places, last], block, groups)
  }
}

function params({ count, fanOut, shift, bits }: Pass, tiles: number, tileSize: number): readonly number[] {
  return [count, tiles, fanOut, shift, bits, tileSize]
}

async function createKernels(device: Device, strategy: Strategy, shape: SplitShape): Promise<Kernels> {
  const serial = strategy === 'serial'
  const positions = shape.positions === true
  const common = { module: 'primitives/split', bindings: [], params: 6 }
  const moving = (entryPoint: string, carry: boolean) => {
    const given: readonly NumberedBinding[] = positions && !carry ? [] : ifPayload(shape, [2, 'read'])
    const ends: readonly NumberedBinding[] =
      entryPoint === 'split_tile'
        ? [[6, 'write']]
        : [
            [5, 'write'],
            [carry ? 7 : 6, 'write'],
          ]
    return device.kernel({
      ...common,
      entryPoint,
      further: [[0, 'read'], [1, 'read'], ...given, [3, 'write'], ...ifPayload(shape, [4, 'write']), ...ends],
      conditions: { ...columnConditions(shape), positions: positions && !carry, carry, serial },
    })
  }
  const [countParts, findStarts, scatterTiles, carryTiles, splitTile] = await Promise.all([
    device.kernel({
      ...common,
      entryPoint: 'count_parts',
      further: [
        [0, 'read'],
        [5, 'write'],
      ],
      conditions: { serial },
    }),
    device.kernel({
      ...common,
      entryPoint: 'find_starts',
      further: [
        [0, 'read'],
        [6, 'write'],
      ],
    }),
    moving('scatter_tiles', false),
    moving('scatter_tiles', true),
    serial ? undefined : moving('split_tile', false),
  ])
  return { countParts, findStarts, scatterTiles, carryTiles, splitTile }
}
