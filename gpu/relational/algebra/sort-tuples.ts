import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { DeviceWord, KeyWords, Primitives } from '../../primitives/primitives.js'
import { type Columns, sortColumns } from '../columns.js'
import { isInTupleOrder, type Tuples } from './tuples.js'

/** Sorts tuples by key or by all of their words, by the primitives' sort (`sort-tuples.wesl`). */
export class SortTuples {
  readonly #primitives: Primitives
  readonly #pad: Readonly<Record<KeyWords, Kernel>>

  private constructor(primitives: Primitives, pad: Readonly<Record<KeyWords, Kernel>>) {
    this.#primitives = primitives
    this.#pad = pad
  }

  static async create(device: Device, primitives: Primitives): Promise<SortTuples> {
    const pad = (wide: boolean) =>
      device.kernel({
        module: 'relational/algebra/sort-tuples',
        entryPoint: 'pad',
        bindings: ['read', 'write'],
        params: 2,
        conditions: { wide },
      })
    const [narrow, wide] = await Promise.all([pad(false), pad(true)])
    return new SortTuples(primitives, { 1: narrow, 2: wide })
  }

  /** The tuples sorted by key, stably, in scratch memory. What lies behind them in their columns is overwritten. */
  recordByKey(recorder: Recorder, scratch: Scratch, tuples: Tuples): Tuples {
    const { shape, columns, rows, count } = tuples
    this.#fence(recorder, columns.keys, shape.keyWords, rows, count)
    const sorted = sortColumns(this.#primitives, recorder, scratch, columns, rows, shape)
    return { ...tuples, columns: sorted, order: 'key' }
  }

  /** Tuples in the order of all their words: as they are if they are in it, else in scratch memory. */
  recordByTuple(recorder: Recorder, scratch: Scratch, tuples: Tuples): Tuples {
    const { shape, columns, rows, count } = tuples
    const { keyWords, payloadWords } = shape
    const { payloads } = columns
    if (isInTupleOrder(tuples) || payloads === undefined || payloadWords === 0) return tuples
    const primitives = this.#primitives
    const copy = scratch.words(rows * payloadWords)
    recorder.copy(payloads, 0, copy, 0, rows * payloadWords * 4)
    this.#fence(recorder, copy, payloadWords, rows, count)
    const byPayload = primitives.sort(recorder, scratch, copy, undefined, rows, payloadWords)
    const keys = scratch.words(rows * keyWords)
    primitives.gather(recorder, columns.keys, byPayload.values, keys, rows, keyWords)
    this.#fence(recorder, keys, keyWords, rows, count)
    const byKey = primitives.sort(recorder, scratch, keys, undefined, rows, keyWords)
    const moved = scratch.words(rows * payloadWords)
    primitives.gather(recorder, byPayload.keys, byKey.values, moved, rows, payloadWords)
    const sorted: Columns = { keys: byKey.keys, payloads: moved }
    return { ...tuples, columns: sorted, order: 'tuple' }
  }

  /** Keeps what lies behind the tuples there. */
  #fence(
    recorder: Recorder,
    column: GPUBuffer,
    words: KeyWords,
    rows: number,
    count: DeviceWord | undefined,
  ): void {
    if (count === undefined) return
    recorder.dispatch(this.#pad[words], [count.buffer, column], [rows, count.index], rows)
  }
}
