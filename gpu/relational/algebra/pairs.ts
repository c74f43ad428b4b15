import type { Device } from '../../device/device.js'
import type { Kernel, NumberedBinding } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import { unboundedCount } from '../../primitives/device-count.js'
import type { DeviceWord } from '../../primitives/primitives.js'
import type { ColumnShape } from '../columns.js'
import type { Tuples } from './tuples.js'

/** Two relations cut into pairs of ranges. */
export interface Pairs {
  readonly tiles: number
  /** For each tile and past the last: tuples of the first relation before it. */
  readonly cuts: GPUBuffer
  /** Numbers of tuples of both. */
  readonly sizes: GPUBuffer
  /** For each tile: where the equals of its first tuple of the first relation begin in the second; none if that was not asked for. */
  readonly runs: readonly GPUBuffer[]
}

/** Conditions of `elements.wesl`. */
export function elementConditions(
  shape: ColumnShape,
  byTuple: boolean,
): Readonly<Record<'wide' | 'payload' | 'wide_payload' | 'by_tuple' | 'pair' | 'quad', boolean>> {
  const words = elementWords(shape, byTuple)
  return {
    wide: shape.keyWords === 2,
    payload: shape.payloadWords > 0,
    wide_payload: shape.payloadWords === 2,
    by_tuple: comparesPayloads(shape, byTuple),
    pair: words === 2,
    quad: words === 4,
  }
}

/** Words that an element takes when it is compared. */
export function elementWords(shape: ColumnShape, byTuple: boolean): 1 | 2 | 4 {
  const words = shape.keyWords + (comparesPayloads(shape, byTuple) ? shape.payloadWords : 0)
  if (words > 2) return 4
  return words === 2 ? 2 : 1
}

function comparesPayloads({ payloadWords }: ColumnShape, byTuple: boolean): boolean {
  return byTuple && payloadWords > 0
}

export interface CutOptions {
  /** Whether relations are compared by all words of their tuples instead of by key. */
  readonly byTuple: boolean
  /** Whether begins of runs are looked for, which JOIN needs. */
  readonly withRuns: boolean
}

/** Cuts pairs of relations into equal tiles (`cut.wesl`). */
export class PairCutter {
  readonly #kernel: Kernel
  /** Whether the kernel reads payloads. */
  readonly #readsPayloads: boolean
  readonly #withRuns: boolean
  readonly #unbounded: DeviceWord

  private constructor(kernel: Kernel, readsPayloads: boolean, withRuns: boolean, unbounded: DeviceWord) {
    this.#kernel = kernel
    this.#readsPayloads = readsPayloads
    this.#withRuns = withRuns
    this.#unbounded = unbounded
  }

  static async create(
    device: Device,
    shape: ColumnShape,
    { byTuple, withRuns }: CutOptions,
  ): Promise<PairCutter> {
    const { by_tuple } = elementConditions(shape, byTuple)
    const [kernel, unbounded] = await Promise.all([
      device.kernel({
        module: 'relational/algebra/cut',
        entryPoint: 'cut',
        params: 6,
        conditions: { ...elementConditions(shape, byTuple), with_runs: withRuns },
        bindings: ['read', 'read'],
        further: [...cutBindings(by_tuple), ...(withRuns ? ([[8, 'write']] as const) : [])],
      }),
      unboundedCount(device),
    ])
    return new PairCutter(kernel, by_tuple, withRuns, unbounded)
  }

  /** @param tileSize elements of a tile */
  record(recorder: Recorder, scratch: Scratch, first: Tuples, second: Tuples, tileSize: number): Pairs {
    const tiles = Math.ceil((first.rows + second.rows) / tileSize)
    const cuts = scratch.words(tiles + 1)
    const sizes = scratch.words(2)
    const runs = this.#withRuns ? [scratch.words(tiles + 1)] : []
    const { buffers, numbers } = cutInputs(first, second, this.#readsPayloads, this.#unbounded)
    recorder.dispatchGroups(
      this.#kernel,
      [...buffers, cuts, sizes, ...runs],
      [...numbers, tiles, tileSize],
      Math.ceil((tiles + 1) / CUTS_OF_GROUP),
    )
    return { tiles, cuts, sizes, runs }
  }
}

/** Invocations of a workgroup of `cut.wesl`: few, so that the searches, which wait for memory, are spread over the device. */
const CUTS_OF_GROUP = 32

/** What kernels that cut bind beside the keys (`cut.wesl`, `search-cut.wesl`): payloads if they are compared, numbers of tuples, results. */
export function cutBindings(readsPayloads: boolean): readonly NumberedBinding[] {
  const payloads: readonly NumberedBinding[] = [
    [2, 'read'],
    [3, 'read'],
  ]
  return [...(readsPayloads ? payloads : []), [4, 'read'], [5, 'read'], [6, 'write'], [7, 'write']]
}

/** The relations as such kernels are given them: buffers but for the results, and the first parameters. */
export function cutInputs(
  first: Tuples,
  second: Tuples,
  readsPayloads: boolean,
  unbounded: DeviceWord,
): { readonly buffers: readonly GPUBuffer[]; readonly numbers: readonly number[] } {
  const { count: firstLive = unbounded } = first
  const { count: secondLive = unbounded } = second
  const payloads = readsPayloads ? payloadsOf(first, second) : []
  return {
    buffers: [first.columns.keys, second.columns.keys, ...payloads, firstLive.buffer, secondLive.buffer],
    numbers: [first.rows, second.rows, firstLive.index, secondLive.index],
  }
}

/** Columns of payloads of both relations, where there are any. */
export function payloadsOf(first: Tuples, second: Tuples): GPUBuffer[] {
  return [first.columns.payloads, second.columns.payloads].filter((buffer) => buffer !== undefined)
}
