import type { Device } from '../../../gpu/device/device.js'
import type { Kernel } from '../../../gpu/device/kernel.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { Primitives } from '../../../gpu/primitives/primitives.js'
import {
  type ColumnShape,
  type Columns,
  columnConditions,
  scratchColumns,
} from '../../../gpu/relational/columns.js'
import { PAPER_KERNELS } from '../kernels.js'
import { BitonicSort, LONGEST_SEGMENT } from './bitonic.js'
import { Split } from './split.js'

/** Keys of which each is a pivot; parts are four times as long before they no longer fit into workgroup memory. */
const KEYS_PER_PIVOT = 256

/**
 * Sampled keys for each pivot, as in `quicksort.wesl`. With 16 of them the chance that a part is four times as long as the mean is
 * about 10^-13.
 */
const SAMPLES_PER_PIVOT = 16

interface Kernels {
  readonly sampleKeys: Kernel
  readonly pickPivots: Kernel
  readonly numberParts: Kernel
}

/** What sorts columns of one shape: the split of elements by their parts, and the sort of each part. */
interface QuicksortSteps {
  readonly split: Split
  readonly bitonic: BitonicSort
}

/**
 * Stable quicksort (`quicksort.wesl`): as many random pivots as make all parts short, the split by them, and a bitonic sort of the
 * parts. Split recurses over the pivots where the paper recurses over the parts, since the host would have to read back how
 * long those are. The sample that pivots come from is sorted the same way.
 */
export class Quicksort {
  readonly #shape: ColumnShape
  readonly #steps: QuicksortSteps
  readonly #sampleSteps: QuicksortSteps
  readonly #kernels: Kernels

  private constructor(
    shape: ColumnShape,
    steps: QuicksortSteps,
    sampleSteps: QuicksortSteps,
    kernels: Kernels,
  ) {
    this.#shape = shape
    this.#steps = steps
    this.#sampleSteps = sampleSteps
    this.#kernels = kernels
  }

  static async create(device: Device, primitives: Primitives, shape: ColumnShape): Promise<Quicksort> {
    const { keyWords } = shape
    const common = {
      folder: PAPER_KERNELS,
      module: 'he/quicksort',
      params: 4,
      conditions: columnConditions({ keyWords, payloadWords: 0 }),
    }
    const [sampleKeys, pickPivots, numberParts] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'sample_keys', bindings: ['read', 'write'] }),
      device.kernel({ ...common, entryPoint: 'pick_pivots', bindings: ['read', 'write'] }),
      device.kernel({
        ...common,
        entryPoint: 'number_parts',
        bindings: ['read'],
        further: [
          [2, 'read'],
          [3, 'write'],
        ],
      }),
    ])
    const stepsOf = async (shape: ColumnShape): Promise<QuicksortSteps> => ({
      split: new Split(device, primitives, shape),
      bitonic: await BitonicSort.create(device, primitives.strategy, shape),
    })
    const sampleSteps = await stepsOf({ keyWords, payloadWords: 0 })
    return new Quicksort(shape, await stepsOf(shape), sampleSteps, { sampleKeys, pickPivots, numberParts })
  }

  /** @returns scratch columns, sorted by key; those of equal keys stay in order */
  record(recorder: Recorder, scratch: Scratch, input: Columns, count: number): Columns {
    return this.#sort(recorder, scratch, input, count, this.#shape, this.#steps)
  }

  #sort(
    recorder: Recorder,
    scratch: Scratch,
    input: Columns,
    count: number,
    shape: ColumnShape,
    { split, bitonic }: QuicksortSteps,
  ): Columns {
    if (count <= LONGEST_SEGMENT) {
      const sorted = copied(recorder, scratch, input, count, shape)
      const starts = scratch.words(1)
      recorder.clear(starts, 0, 4)
      bitonic.record(recorder, scratch, sorted, count, { starts, count: 1 })
      return sorted
    }
    const pivots = Math.ceil(count / KEYS_PER_PIVOT) - 1
    const parts = this.#numberParts(recorder, scratch, input.keys, count, pivots)
    const fanOut = 2 * pivots + 1
    const { keys, payloads, starts } = split.record(recorder, scratch, input, parts, count, fanOut)
    bitonic.record(recorder, scratch, { keys, payloads }, count, { starts, count: fanOut, settledOdd: true })
    return { keys, payloads }
  }

  /** The number of each key's part. */
  #numberParts(
    recorder: Recorder,
    scratch: Scratch,
    keys: GPUBuffer,
    count: number,
    pivots: number,
  ): GPUBuffer {
    const shape: ColumnShape = { keyWords: this.#shape.keyWords, payloadWords: 0 }
    const samples = (pivots + 1) * SAMPLES_PER_PIVOT
    const params = [count, samples, pivots, Math.floor(Math.random() * 2 ** 32)]
    const drawn = scratchColumns(scratch, shape, samples)
    recorder.dispatch(this.#kernels.sampleKeys, [keys, drawn.keys], params, samples)
    const sample = this.#sort(recorder, scratch, drawn, samples, shape, this.#sampleSteps)
    const chosen = scratchColumns(scratch, shape, pivots)
    recorder.dispatch(this.#kernels.pickPivots, [sample.keys, chosen.keys], params, pivots)
    const parts = scratch.words(count)
    recorder.dispatch(this.#kernels.numberParts, [keys, chosen.keys, parts], params, count)
    return parts
  }
}

function copied(
  recorder: Recorder,
  scratch: Scratch,
  input: Columns,
  count: number,
  shape: ColumnShape,
): Columns {
  const copy = scratchColumns(scratch, shape, count)
  recorder.copy(input.keys, 0, copy.keys, 0, count * shape.keyWords * 4)
  if (input.payloads !== undefined && copy.payloads !== undefined) {
    recorder.copy(input.payloads, 0, copy.payloads, 0, count * shape.payloadWords * 4)
  }
  return copy
}
