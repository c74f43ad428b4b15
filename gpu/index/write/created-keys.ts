import type { Device, Kernels } from '../../device/device.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import { Count } from '../batch/counts.js'
import type { TreeShape } from '../layout.js'

/** Keys of variable length that are to be brought into an index's heap. */
export interface KeysToStore {
  /** Their records. */
  readonly keys: GPUBuffer
  /** The heap that the records refer to. */
  readonly source: GPUBuffer
  /** Where each goes in the heap's new part. */
  readonly starts: GPUBuffer
}

/** Brings the keys of created tuples, of variable length, into the index's heap. */
export class KeyWriter {
  readonly #primitives: Primitives
  readonly #shape: TreeShape
  readonly #kernels: Kernels<'measure_keys' | 'store_keys'>

  constructor(device: Device, primitives: Primitives, shape: TreeShape) {
    const entryPoints = ['measure_keys', 'store_keys'] as const
    this.#primitives = primitives
    this.#shape = shape
    this.#kernels = device.kernels('index/write/created-keys', entryPoints, shape.conditions)
  }

  /** Counts the words of the created tuples' keys, at most `count`, into `counts`. */
  recordCount(
    recorder: Recorder,
    scratch: Scratch,
    keys: GPUBuffer,
    source: GPUBuffer,
    count: number,
    counts: GPUBuffer,
  ): KeysToStore {
    const starts = scratch.words(count)
    const buffers = { keys, counts, keyStarts: starts }
    recorder.dispatch(this.#kernels.measure_keys, buffers, { count, shape: this.#shape.word }, count)
    const total = { buffer: counts, index: Count.keyWords }
    this.#primitives.scan(recorder, scratch, starts, starts, count, total)
    return { keys, source, starts }
  }

  /** Stores the keys of tuples from `firstTuple` on, from word `firstWord` of the arena's heap on. */
  record(
    recorder: Recorder,
    arena: Arena,
    { keys, source, starts }: KeysToStore,
    counts: GPUBuffer,
    count: number,
    firstTuple: number,
    firstWord: number,
  ): void {
    if (arena.heap === undefined) return
    const target = { targetHeap: arena.heap.buffer, tuples: arena.tuples.buffer }
    const buffers = { keys, counts, keyStarts: starts, source, ...target }
    const params = { count, shape: this.#shape.word, firstTuple, firstWord }
    recorder.dispatch(this.#kernels.store_keys, buffers, params, count)
  }
}
