import type { Device, Kernels } from '../../../gpu/device/device.js'
import type { Recorder } from '../../../gpu/device/recorder.js'
import type { DeviceMemory } from '../../../gpu/memory/page-run.js'
import type { Scratch } from '../../../gpu/memory/scratch.js'
import type { Primitives } from '../../../gpu/primitives/primitives.js'
import { PAPER_KERNELS } from '../kernels.js'
import { BitonicSort, LONGEST_SEGMENT } from './bitonic.js'
import { type ColumnShape, type Columns, columnConditions, scratchColumns } from './columns.js'
import { Split } from './split.js'

/** Keys of which each is a pivot; parts are four times as long before they no longer fit into workgroup memory. */
const KEYS_PER_PIVOT = 256

/**
 * Sampled keys for each pivot, as in `quicksort.wesl`. With 16 of them the chance that a part is four times as long as the mean is
 * about 10^-13.
 */
const SAMPLES_PER_PIVOT = 16

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
  readonly #kernels: Kernels<'sample_keys' | 'pick_pivots' | 'number_parts'>

  constructor(device: Device, primitives: Primitives, shape: ColumnShape) {
    const keys: ColumnShape = { keyWords: shape.keyWords, payloadWords: 0 }
    const stepsOf = (shape: ColumnShape) => ({
      split: new Split(device, primitives, shape),
      bitonic: new BitonicSort(device, primitives.strategy, shape),
    })
    const entryPoints = ['sample_keys', 'pick_pivots', 'number_parts'] as const
    this.#shape = shape
    this.#steps = stepsOf(shape)
    this.#sampleSteps = stepsOf(keys)
    this.#kernels = device.kernels('he/quicksort', entryPoints, columnConditions(keys), PAPER_KERNELS)
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
    keys: DeviceMemory,
    count: number,
    pivots: number,
  ): DeviceMemory {
    const shape: ColumnShape = { keyWords: this.#shape.keyWords, payloadWords: 0 }
    const samples = (pivots + 1) * SAMPLES_PER_PIVOT
    const params = { count, samples, pivots, seed: Math.floor(Math.random() * 2 ** 32) }
    const drawn = scratchColumns(scratch, shape, samples)
    recorder.dispatch(this.#kernels.sample_keys, { keys, drawn: drawn.keys }, params, samples)
    const sample = this.#sort(recorder, scratch, drawn, samples, shape, this.#sampleSteps)
    const chosen = scratchColumns(scratch, shape, pivots)
    recorder.dispatch(this.#kernels.pick_pivots, { keys: sample.keys, drawn: chosen.keys }, params, pivots)
    const parts = scratch.words(count)
    recorder.dispatch(this.#kernels.number_parts, { keys, pivots: chosen.keys, parts }, params, count)
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
