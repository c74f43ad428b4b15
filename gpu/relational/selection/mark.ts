import { asBytes } from '../../../protocol/columns.js'
import type { Device } from '../../device/device.js'
import type { Kernel, NumberedBinding } from '../../device/kernel.js'
import { type DeviceWord, unboundedCount } from '../../primitives/device-count.js'
import type { DeviceWork } from '../query/device-work.js'
import { FIRST_SOURCE, generatePredicate } from './generate-predicate.js'
import type { GeneratedKernels } from './generated-kernels.js'
import type { Predicate } from './predicate.js'
import type { SelectionTile } from './selection-tile.js'

/** Which entries a kernel of a plan looks at: numbers of rows, or all rows up to a bound. */
export interface Entries {
  /** How many there are at most. */
  readonly bound: number
  /** How many there are, if fewer may be; the device knows. */
  readonly live: DeviceWord | undefined
  /** The row of each; undefined where entry i is row i. */
  readonly list: GPUBuffer | undefined
}

/** Entries that pass. */
export interface Marked {
  /** How many before each tile, and behind them all. */
  readonly bases: GPUBuffer
  /** A bit an entry. */
  readonly bits: GPUBuffer
  readonly tiles: number
  readonly total: DeviceWord
}

/** Evaluates predicates over entries (`mark.wesl`). */
export class Mark {
  readonly #kernels: GeneratedKernels
  readonly #tile: SelectionTile
  readonly #unbounded: DeviceWord
  /** Buffers that a predicate can read. */
  readonly mostSources: number

  private constructor(device: Device, kernels: GeneratedKernels, tile: SelectionTile, unbounded: DeviceWord) {
    this.#kernels = kernels
    this.#tile = tile
    this.#unbounded = unbounded
    this.mostSources = device.gpu.limits.maxStorageBuffersPerShaderStage - FIRST_SOURCE
  }

  static async create(device: Device, kernels: GeneratedKernels, tile: SelectionTile): Promise<Mark> {
    return new Mark(device, kernels, tile, await unboundedCount(device))
  }

  destroy(): void {
    this.#unbounded.buffer.destroy()
  }

  /**
   * The entries that pass all of several predicates, one after the other.
   * @param predicates one at least
   */
  async record(work: DeviceWork, entries: Entries, predicates: readonly Predicate[]): Promise<Marked> {
    const { bits, counts, tiles } = await this.#marks(work, entries, predicates)
    const total = { buffer: counts, index: tiles }
    work.kernels.primitives.scan(work.recorder, work.scratch, counts, counts, tiles, total)
    return { bases: counts, bits, tiles, total }
  }

  /** A bit for each of them. */
  async bits(work: DeviceWork, entries: Entries, predicates: readonly Predicate[]): Promise<GPUBuffer> {
    return (await this.#marks(work, entries, predicates)).bits
  }

  /** How many they are. */
  async count(work: DeviceWork, entries: Entries, predicates: readonly Predicate[]): Promise<DeviceWord> {
    const last = predicates.at(-1)!
    const isContinued = predicates.length > 1
    const kernel = await this.#kernel(last, { counts: true, continued: isContinued })
    const known = isContinued ? await this.bits(work, entries, predicates.slice(0, -1)) : undefined
    const total = work.words(1)
    work.recorder.clear(total, 0, 4)
    this.#dispatch(work, entries, last, kernel, [total], known)
    return { buffer: total, index: 0 }
  }

  async #marks(
    work: DeviceWork,
    entries: Entries,
    predicates: readonly Predicate[],
  ): Promise<{ readonly bits: GPUBuffer; readonly counts: GPUBuffer; readonly tiles: number }> {
    const tiles = this.#tile.tiles(entries.bound)
    const kernels = await Promise.all(
      predicates.map((predicate, i) => this.#kernel(predicate, { counts: false, continued: i > 0 })),
    )
    const counts = work.words(tiles + 1)
    let known: GPUBuffer | undefined
    let bits = work.unwritten
    for (const [i, predicate] of predicates.entries()) {
      bits = work.words(tiles * this.#tile.words)
      this.#dispatch(work, entries, predicate, kernels[i]!, [counts, bits], known)
      known = bits
    }
    return { bits, counts, tiles }
  }

  #dispatch(
    work: DeviceWork,
    { bound, live = this.#unbounded, list }: Entries,
    predicate: Predicate,
    kernel: Kernel,
    outputs: readonly GPUBuffer[],
    known: GPUBuffer | undefined,
  ): void {
    const tiles = this.#tile.tiles(bound)
    const args = work.upload(asBytes(predicate.arguments))
    const present = [known, list].filter((buffer) => buffer !== undefined)
    const buffers = [args, live.buffer, ...outputs, ...present, ...predicate.buffers]
    work.recorder.dispatchGroups(kernel, buffers, [bound, live.index, tiles], this.#tile.groups(tiles))
  }

  #kernel({ shape }: Predicate, conditions: { counts: boolean; continued: boolean }): Promise<Kernel> {
    const { counts, continued } = conditions
    const further: NumberedBinding[] = []
    if (!counts) further.push([3, 'write'])
    if (continued) further.push([4, 'read'])
    if (shape.listed) further.push([5, 'read'])
    shape.sources.forEach((_, i) => {
      further.push([FIRST_SOURCE + i, 'read'])
    })
    return this.#kernels.get({
      module: 'relational/selection/mark',
      entryPoint: 'mark',
      bindings: ['read', 'read', 'write'],
      further,
      params: 3,
      conditions: { ...this.#tile.conditions, count: counts, continued },
      generated: { module: 'relational/selection/plan', text: generatePredicate(shape, this.#tile.loads) },
    })
  }
}
