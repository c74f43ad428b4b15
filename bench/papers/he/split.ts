import type { Device } from '../../../gpu/device/device.js'
import type { Kernel } from '../../../gpu/device/kernel.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { Conditions } from '../../../gpu/device/shaders.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { Primitives } from '../../../gpu/primitives/primitives.js'
import { groupsFor } from '../../../gpu/primitives/strategy.js'
import { PAPER_KERNELS } from '../kernels.js'
import { type ColumnShape, type Columns, columnConditions, scratchColumns } from './columns.js'

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
  readonly starts: DeviceMemory
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
  readonly #primitives: Primitives
  readonly #shape: SplitShape
  readonly #counts: Kernel
  readonly #starts: Kernel
  readonly #tiles: Kernel
  /** The pass of several that moves the part numbers too. */
  readonly #carried: Kernel
  /** Only where a workgroup shares a tile. */
  readonly #single: Kernel | undefined

  constructor(device: Device, primitives: Primitives, shape: SplitShape) {
    const isSerial = primitives.strategy === 'serial'
    const kernel = (name: string, conditions?: Conditions) =>
      device.kernels('he/split', [name], conditions, PAPER_KERNELS)[name]!
    const tiled = (name: string, conditions?: Conditions) =>
      kernel(isSerial ? `${name}_serial` : name, conditions)
    const whole = { ...columnConditions(shape), positions: shape.positions === true, carry: false }
    this.#primitives = primitives
    this.#shape = shape
    this.#counts = tiled('count_parts')
    this.#starts = kernel('find_starts')
    this.#tiles = tiled('scatter_tiles', whole)
    this.#carried = tiled('scatter_tiles', { ...whole, positions: false, carry: true })
    this.#single = isSerial ? undefined : kernel('split_tile', whole)
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
    parts: DeviceMemory,
    count: number,
    fanOut: number,
  ): SplitColumns {
    const bits = Math.ceil(Math.log2(fanOut))
    const starts = scratch.words(fanOut + 1)
    if (bits > MOST_PASS_BITS) return this.#inPasses(recorder, scratch, input, parts, count, fanOut, starts)
    const pass = { count, fanOut, shift: 0, bits }
    const output = scratchColumns(scratch, this.#shape, count)
    const buffers = { parts, ...moved(input, output), starts }
    if (this.#single !== undefined && count <= TILE.cooperative) {
      recorder.dispatchGroups(this.#single, buffers, params(pass, 1, 0), 1)
    } else {
      this.#scatter(recorder, scratch, pass, this.#tiles, buffers)
    }
    return { ...output, starts }
  }

  #inPasses(
    recorder: Recorder,
    scratch: Scratch,
    input: Columns,
    parts: DeviceMemory,
    count: number,
    fanOut: number,
    starts: DeviceMemory,
  ): SplitColumns {
    const allocate = () => ({ ...scratchColumns(scratch, this.#shape, count), parts: scratch.words(count) })
    const bits = Math.ceil(Math.log2(fanOut))
    const passBits = Math.ceil(bits / Math.ceil(bits / MOST_PASS_BITS))
    let source = { ...input, parts }
    if (this.#shape.positions) {
      const payloads = scratch.words(count)
      this.#primitives.iota(recorder, payloads, count)
      source = { ...source, payloads }
    }
    let output = allocate()
    let spare: typeof output | undefined
    for (let shift = 0; shift < bits; shift += passBits) {
      if (shift > 0) [output, spare] = [spare ?? allocate(), output]
      const pass = { count, fanOut, shift, bits: Math.min(passBits, bits - shift) }
      const buffers = { parts: source.parts, ...moved(source, output), splitParts: output.parts }
      this.#scatter(recorder, scratch, pass, this.#carried, buffers)
      source = output
    }
    const pass = { count, fanOut, shift: 0, bits }
    const buffers = { parts: output.parts, starts }
    recorder.dispatch(this.#starts, buffers, params(pass, 0, 0), fanOut + 1)
    return { keys: output.keys, payloads: output.payloads, starts }
  }

  #scatter(
    recorder: Recorder,
    scratch: Scratch,
    pass: Pass,
    scatterTiles: Kernel,
    columns: Readonly<Record<string, DeviceMemory | undefined>>,
  ): void {
    const { strategy } = this.#primitives
    const passParts = Math.min(pass.fanOut, 2 ** pass.bits)
    const tileSize =
      strategy === 'serial' ? Math.max(TILE.serial, SERIAL_ELEMENTS_PER_PART * passParts) : TILE.cooperative
    const tiles = Math.max(1, Math.ceil(pass.count / tileSize))
    const groups = groupsFor(strategy, tiles)
    const block = params(pass, tiles, tileSize)
    const places = scratch.words(passParts * tiles)
    const buffers = { ...columns, places }
    recorder.dispatchGroups(this.#counts, buffers, block, groups)
    this.#primitives.scan(recorder, scratch, places, places, passParts * tiles)
    recorder.dispatchGroups(scatterTiles, buffers, block, groups)
  }
}

function params(pass: Pass, tiles: number, tileSize: number): Readonly<Record<string, number>> {
  return { ...pass, tiles, tileSize }
}

/** Columns that are moved from one place to another. */
function moved(source: Columns, output: Columns) {
  return {
    keys: source.keys,
    payloads: source.payloads,
    splitKeys: output.keys,
    splitPayloads: output.payloads,
  }
}
