import { WarpdexError } from '../../../protocol/errors.js'
import type { Device, Kernels } from '../../device/device.js'
import type { Arena } from '../arena.js'
import type { BatchWork } from '../batch/work.js'
import type { TreeShape } from '../layout.js'

/** Brings the keys of created tuples, of variable length, from the heap that their records refer to into the index's. */
export class KeyWriter {
  readonly #kernels: Kernels<'measure_keys' | 'store_keys'>

  constructor(device: Device, { conditions }: TreeShape) {
    const entryPoints = ['measure_keys', 'store_keys'] as const
    this.#kernels = device.kernels('index/write/created-keys', entryPoints, conditions)
  }

  /** Counts the words of the created tuples' keys. */
  recordCount(work: BatchWork): void {
    work.words('keyStarts')
    work.dispatch(this.#kernels.measure_keys)
    work.scan('keyStarts', 'keyWords')
  }

  /** Stores the keys of `creates` tuples in the arena's heap, in which `words` are taken for that. */
  record(work: BatchWork, { heap }: Arena, creates: number, words: number): void {
    if (heap === undefined) throw new WarpdexError('INTERNAL', 'keys of fixed width lie in no heap')
    work.params.firstWord = heap.take(words)
    work.buffers.targetHeap = heap.buffer
    work.dispatch(this.#kernels.store_keys, creates)
  }
}
