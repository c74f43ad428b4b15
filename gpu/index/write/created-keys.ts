import type { Device } from '../../device/device.js'
import type { Kernel } from '../../device/kernel.js'
import type { Recorder } from '../../device/recorder.js'
import type { Scratch } from '../../memory/scratch.js'
import type { Primitives } from '../../primitives/primitives.js'
import type { Arena } from '../arena.js'
import type { TreeShape } from '../layout.js'
import { Count } from './counts.js'

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
  readonly #measureKeys: Kernel
  readonly #storeKeys: Kernel

  private constructor(primitives: Primitives, shape: TreeShape, measureKeys: Kernel, storeKeys: Kernel) {
    this.#primitives = primitives
    this.#shape = shape
    this.#measureKeys = measureKeys
    this.#storeKeys = storeKeys
  }

  static async create(device: Device, primitives: Primitives, shape: TreeShape): Promise<KeyWriter> {
    const { conditions } = shape
    const common = { module: 'index/write/created-keys', params: 4, conditions }
    const [measureKeys, storeKeys] = await Promise.all([
      device.kernel({ ...common, entryPoint: 'measure_keys', bindings: ['read', 'read', 'write'] }),
      device.kernel({
        ...common,
        entryPoint: 'store_keys',
        bindings: ['read', 'read', 'write', 'read', 'write', 'write'],
      }),
    ])
    return new KeyWriter(primitives, shape, measureKeys, storeKeys)
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
    recorder.dispatch(this.#measureKeys, [keys, counts, starts], [count, this.#shape.word, 0, 0], count)
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
    const target = [arena.heap.buffer, arena.tuples.buffer]
    const params = [count, this.#shape.word, firstTuple, firstWord]
    recorder.dispatch(this.#storeKeys, [keys, counts, starts, source, ...target], params, count)
  }
}
